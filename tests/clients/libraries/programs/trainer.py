"""transformers' Trainer, which finds the device by accelerate."""
from begin import DEVICE, OPTIONS, curve, give, torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        words = torch.randint(0, 500, (16,), generator=torch.Generator().manual_seed(i))
        return {"input_ids": words, "attention_mask": torch.ones_like(words), "labels": words.sum() % 3}


def trainer(resume=False, fsdp=0, **more):
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, num_labels=3,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    if fsdp:
        more.update(fsdp="full_shard auto_wrap", fsdp_config={"transformer_layer_cls_to_wrap": ["BertLayer"], "fsdp_version": fsdp})
    args = TrainingArguments("out", num_train_epochs=2, per_device_train_batch_size=8, logging_steps=2, learning_rate=1e-3, report_to=[], disable_tqdm=True,
                             use_cpu=DEVICE == "cpu", save_strategy="epoch" if resume else "no", eval_strategy="epoch", dataloader_pin_memory=False, **more)
    return Trainer(model, args, train_dataset=Sentences(), eval_dataset=Sentences())


made = trainer(**OPTIONS)
made.train()
assert made.args.device.type == DEVICE
if OPTIONS.get("resume"):  # again from the end of the first epoch, in a model that knows nothing of it
    whole = curve(made, "loss", "eval_loss")
    made = trainer(**OPTIONS)
    made.train(resume_from_checkpoint="out/checkpoint-8")
    assert curve(made, "loss", "eval_loss") == whole
give(**curve(made, "loss", "grad_norm", "eval_loss"))
