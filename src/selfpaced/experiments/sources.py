"""Where the numbers of the paper's experiments come from, by the name of the number."""

TABLE_1 = "paper, Table 1"
TABLE_2 = "paper, Table 2"
APPENDIX = "paper, appendix"
PROGRAM = "the authors' program"
OURS = "ours; docs/reproduction.md"

SOURCES = {
    "epsilon": TABLE_1,
    "n_samples": TABLE_1,
    "buffer_size": TABLE_1,
    "zeta": TABLE_1,
    "k_alpha": TABLE_1,
    "alpha_max": PROGRAM,
    "variance": APPENDIX,
    "until_kl": APPENDIX,
    "ridge": OURS,
    "temperature_floor": OURS,
    "policy_weights": "Algorithm 1 as printed",
    "noise": TABLE_2,
    "train_every": TABLE_2,
    "steps": PROGRAM,
    "first_steps": PROGRAM,
    "split_at": TABLE_2 + ", columns exchanged",
    "window": TABLE_2 + ", columns exchanged",
    "population": "pycma's default",
    "environments": APPENDIX,
    "minibatches": APPENDIX,
    "epochs": APPENDIX,
    "hidden": APPENDIX,
    "gamma": APPENDIX,
    "gae_lambda": APPENDIX,
    "entropy": APPENDIX,
    "learning_rate": PROGRAM,
    "clip": PROGRAM,
    "value_weight": PROGRAM,
    "max_gradient": PROGRAM,
}
