"""From stored runs to tables, figures and pages. Only `scene.py` and `watch.py` simulate."""
