"""Scripts that say `from apex import amp`: Updraft's apex on npu and on cpu."""
