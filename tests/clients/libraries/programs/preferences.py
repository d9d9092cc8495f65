"""trl: supervised tuning, direct preferences, and a reward that a group of answers is compared by."""
from begin import DEVICE, OPTIONS, curve, give, torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

words = {w: i for i, w in enumerate([*"abcdefghij", "[PAD]", "[UNK]", "[EOS]"])}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]")


def model():
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=16, n_embd=32, n_layer=2, n_head=2, n_positions=64, resid_pdrop=0.0, attn_pdrop=0.0, embd_pdrop=0.0,
                                      bos_token_id=12, eos_token_id=12))


common = dict(output_dir="out", num_train_epochs=2, per_device_train_batch_size=4, logging_steps=1, learning_rate=1e-3, report_to=[], bf16=False,
              save_strategy="no", disable_tqdm=True, gradient_checkpointing=False, use_cpu=DEVICE == "cpu")
if OPTIONS["kind"] == "sft":
    from trl import SFTConfig, SFTTrainer
    data = Dataset.from_dict({"text": ["a b c d e f g", "c d e f g", "h i j a", "a a b b c c"] * 4})
    trainer = SFTTrainer(model(), SFTConfig(max_length=32, **common), train_dataset=data, processing_class=tokenizer)
elif OPTIONS["kind"] == "dpo":
    from trl import DPOConfig, DPOTrainer
    data = Dataset.from_dict({"prompt": ["a b", "c d"] * 4, "chosen": ["c d", "e f"] * 4, "rejected": ["j", "a"] * 4})
    trainer = DPOTrainer(model(), ref_model=model(), args=DPOConfig(**common), train_dataset=data, processing_class=tokenizer)
else:
    from trl import GRPOConfig, GRPOTrainer
    data = Dataset.from_dict({"prompt": ["a b", "c d", "e f", "a"] * 2})

    def different_words(completions, **_):
        return [float(len(set(c.split()))) for c in completions]

    trainer = GRPOTrainer(model(), reward_funcs=different_words, train_dataset=data, processing_class=tokenizer,
                          args=GRPOConfig(num_generations=4, max_completion_length=8, **common))
trainer.train()
assert trainer.args.device.type == DEVICE
give(**curve(trainer, "loss", "grad_norm", *["rewards/margins"] * (OPTIONS["kind"] == "dpo"), *["reward"] * (OPTIONS["kind"] == "grpo")))
