"""The MuJoCo part of the tasks: robot models, batched rollouts and cameras.

Only `camera` loads without MuJoCo; tasks import the other modules when they first simulate.
"""
