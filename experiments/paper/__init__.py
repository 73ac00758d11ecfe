"""The experiments of "On training locally adaptive CP" (Colombo, COPA 2023), run again: `python -m experiments.paper`."""
