import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
from datasets import Dataset  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast  # noqa: E402
from trl import SFTConfig, SFTTrainer  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402

words = {w: i for i, w in enumerate(["<pad>", "<eos>", "<unk>", *"abcdefgh"])}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
model = LlamaForCausalLM(LlamaConfig(vocab_size=len(words), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
                                     num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=32, pad_token_id=0))
data = Dataset.from_dict({"text": ["a b c d e", "b c d e f", "c d e f g", "d e f g h"] * 2})
trainer = SFTTrainer(model=model, train_dataset=data, processing_class=tokenizer,
                     args=SFTConfig(output_dir="out", max_steps=4, per_device_train_batch_size=4, logging_steps=1, report_to=[],
                                    save_strategy="no", bf16=False, gradient_checkpointing=False, learning_rate=0.01, max_length=16,
                                    dataloader_num_workers=0, dataloader_pin_memory=False))
trainer.train()
losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
print("RESULT", trainer.model.device.type, f"{losses[-1]:.5f}")
