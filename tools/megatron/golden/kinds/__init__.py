"""One file for each family of golden data: what to call in Megatron-LM, and what to record of it."""
