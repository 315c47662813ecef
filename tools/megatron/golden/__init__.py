"""Run Megatron-LM's own functions on a CPU and record what they decide."""
