"""What scripts that run the whole catalogue share: parameters with which a benchmark is soon done, and what a machine that lacks something says."""

# Parameters that say how long or how much, and what is enough for a look.
QUICK = {"seconds": 2, "duration": 2, "warmup": 1, "ramp": 1, "rounds": 1}
# Where `seconds` is no time that a trial takes: the length of the sound.
OTHERWISE = {"audio-encode"}


def quick_parameters(definition):
    """The parameters to choose, by name: those that are longer unless said."""
    chosen = {}
    if definition["name"] in OTHERWISE:
        return chosen
    for name, value in QUICK.items():
        parameter = definition.get("params", {}).get(name)
        if parameter and isinstance(parameter["default"], (int, float)) and parameter["default"] > value:
            chosen[name] = max(value, parameter.get("min", value))
    return chosen


def lacks(told):
    """Whether a run failed because this machine lacks a program, or what a definition looks for itself: that ends with sysexits' EX_UNAVAILABLE."""
    return "exited with code 69" in told or "` is not installed: " in told
