"""A plug-in for selfpaced: a teacher, a task, a learner and an experiment."""
