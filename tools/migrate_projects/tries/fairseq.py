import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
import argparse  # noqa: E402

import dataclasses_310  # noqa: E402, F401
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion  # noqa: E402
from fairseq.data import Dictionary  # noqa: E402
from fairseq.models.transformer import TransformerModel, base_architecture  # noqa: E402
from fairseq.optim.adam import FairseqAdam  # noqa: E402
from fairseq.utils import move_to_cuda  # noqa: E402

words = Dictionary()
for word in "abcdefgh":
    words.add_symbol(word)
args = argparse.Namespace(encoder_layers=1, decoder_layers=1, encoder_embed_dim=16, encoder_ffn_embed_dim=32, encoder_attention_heads=2,
                          decoder_attention_heads=2, dropout=0.0, max_source_positions=32, max_target_positions=32)
base_architecture(args)
task = argparse.Namespace(source_dictionary=words, target_dictionary=words)
model = TransformerModel.build_model(args, task)
if torch.cuda.is_available():
    model.cuda()
criterion = LabelSmoothedCrossEntropyCriterion(task, sentence_avg=False, label_smoothing=0.1)
optimizer = FairseqAdam(argparse.Namespace(adam_betas="(0.9, 0.98)", adam_eps=1e-8, weight_decay=0.0, lr=[0.01], use_old_adam=False, fp16_adam_stats=False, tpu=False),
                        list(model.parameters()))
source, target = torch.randint(4, len(words), (4, 7)), torch.randint(4, len(words), (4, 6))
sample = {"net_input": {"src_tokens": source, "src_lengths": torch.full((4,), 7),
                        "prev_output_tokens": torch.cat([torch.full((4, 1), words.eos()), target[:, :-1]], 1)},
          "target": target, "ntokens": target.numel(), "nsentences": 4}
if torch.cuda.is_available():
    sample = move_to_cuda(sample)
for _ in range(4):
    optimizer.zero_grad()
    loss, size, _ = criterion(model, sample)
    optimizer.backward(loss / size)
    optimizer.step()
print("RESULT", loss.device.type, f"{loss.item() / size:.5f}")
