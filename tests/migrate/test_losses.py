"""What counts as a loss in what a script prints, and how two of them are compared."""

import pytest
from updraft.verify.losses import Comparison, losses

LINES = {
    "loss: 0.5": [("loss", "0.5")],
    "step 3 loss 1.25e-3 lr 0.1": [("loss", "1.25e-3")],
    "Epoch 1/10, Loss=2.5, acc: 93.1%": [("Loss", "2.5"), ("acc", "93.1")],
    "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.303": [("Loss", "2.303")],
    "{'loss': 0.1, 'eval_accuracy': 0.9, 'epoch': 1.0}": [("loss", "0.1"), ("eval_accuracy", "0.9")],
    '{"train_loss": -0.25}': [("train_loss", "-0.25")],
    "loss after epoch 3: 0.75": [("loss", "0.75")],
    "loss at step 12/100 = 0.75": [("loss", "0.75")],
    "loss tensor(2.5, grad_fn=<NllLossBackward0>)": [("loss", "2.5")],
    "Loss 2.3 (2.4)  Acc@1 12.5 (11.0)": [("Loss", "2.3"), ("Loss (average)", "2.4"), ("Acc@1", "12.5"), ("Acc@1 (average)", "11.0")],
    "val/loss: nan": [("val/loss", "nan")],
    "loss -> 1.5": [("loss", "1.5")],
    "loss: [0.5]": [("loss", "0.5")],
    "ppl 12.5 | perplexity | 13": [("ppl", "12.5"), ("perplexity", "13")],
    "mean_loss 3": [("mean_loss", "3")],
    "loss3 = 1": [], "accumulate 4 steps": [], "glossary: 5": [], "terror: 6": [], "losses were fine": [], "loss is computed at 10:30": [],
    "time 0.5": [], "lr: 0.1": [], "loss: 5it/s": [],
}


@pytest.mark.parametrize("line", LINES)
def test_lines(line):
    assert [(x.label, x.text) for x in losses(line)] == LINES[line]


def test_progress_bars_are_left_out():
    assert [x.text for x in losses("a: 1%\rloss=1.0\rloss=2.0\nloss=3.0\r\nloss=4.0\n")] == ["3.0", "4.0"]
    assert [x.number for x in losses("\n\nloss=3.0\n")] == [3]


def compare(a, b, rtol=1e-2):
    return Comparison(losses("\n".join("loss: " + x for x in a)), losses("\n".join("loss: " + x for x in b)), rtol)


@pytest.mark.parametrize("a, b, first", [
    (["1.0000", "0.5"], ["1.0000", "0.5"], None),
    (["1.0000"], ["1.0020"], 0),  # the first ones: a tenth of the tolerance
    (["1.0000"], ["1.0009"], None),
    (["1.0000"] * 3 + ["1.0000"], ["1.0000"] * 3 + ["1.0090"], None),
    (["1.0000"] * 3 + ["1.0000"], ["1.0000"] * 3 + ["1.0200"], 3),
    (["1.0", "1.0"], ["1.0"], 1),
    (["1.0"], ["1.0", "1.0"], 1),
    (["nan"], ["nan"], None),
    (["nan"], ["1.0"], 0),
    (["inf"], ["-inf"], 0),
    (["0.01"], ["0.02"], None),  # one unit of the last digit: rounding
    (["0.01"], ["0.03"], 0),
    (["0.000"], ["0.000"], None),
])
def test_comparison(a, b, first):
    assert compare(a, b).first == first


def test_another_label_is_a_difference():
    assert Comparison(losses("loss: 1"), losses("accuracy: 1"), 1e-2).first == 0


def test_counts_of_samples():
    assert Comparison(losses("acc: 50.0"), losses("acc: 50.05"), 1e-2).first is None
    assert Comparison(losses("acc: 50.0"), losses("acc: 53.0"), 1e-2).first == 0
