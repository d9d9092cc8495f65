// Advice: where it is given, and where it must not be.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "migrate/names/module.h"
#include "migrate/rewrite/hints.h"
#include "migrate/rewrite/passes.h"
#include "migrate/rules/rule.h"
#include "migrate/support/table.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate {
namespace {

struct Hint {
  std::string rule, suggestion, api;
  std::uint32_t line;
  std::string en, zh;
};

std::vector<Hint> hints(const std::string& text, Product product = Product::a2) {
  static const rules::RuleSet none;
  const names::Project project([&](const std::string&) { return text; }, {"main.py"});
  const names::Module module("main.py", text, &project);
  std::vector<Hint> found;
  const rewrite::Facts facts{0, product};
  for (const Finding& f : rewrite::python(module, none, "pytorch", Confidence::Likely, {.facts = &facts})) {
    if (!f.rule.starts_with("PT7")) continue;
    EXPECT_TRUE(f.edits.empty() && !f.applied);
    EXPECT_FALSE(f.message.en.empty() || f.message.zh.empty()) << f.rule;
    EXPECT_TRUE(f.category == Category::Affinity || f.category == Category::Precision ||
                f.category == Category::Performance);
    found.push_back({f.rule, f.suggestion, f.api, f.from.line, f.message.en, f.message.zh});
  }
  return found;
}

std::string list(const std::vector<Hint>& found) {
  std::string text;
  for (const Hint& h : found)
    text += h.rule + ":" + std::to_string(h.line) + " " + (h.suggestion.empty() ? h.api : h.suggestion) + "\n";
  return text;
}

const std::string kHead = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n";  // lines 1 to 3

void expect(const std::string& body, const std::string& wanted) {
  EXPECT_EQ(list(hints(kHead + body)), wanted) << body;
}

TEST(HintsFusion, RmsNorm) {
  const std::string forward =
      "    def forward(self, x):\n        v = x.float().pow(2).mean(-1, keepdim=True)\n"
      "        return self.weight * (x * torch.rsqrt(v + self.eps))\n";
  expect("class LlamaRMSNorm(nn.Module):\n" + forward, "PT703:5 torch_npu.npu_rms_norm\n");
  expect(
      "class Norm(nn.Module):\n    def _norm(self, x):\n        return x * torch.rsqrt((x ** 2).mean(-1)) * "
      "self.weight\n",
      "PT703:5 torch_npu.npu_rms_norm\n");
  expect(
      "class Norm(nn.Module):\n    def forward(self, x):\n        return self.weight * (x - x.mean(-1)) / "
      "torch.sqrt(x.pow(2).mean())\n",
      "");
  expect(
      "class Norm(nn.Module):\n    def forward(self, x):\n        return (x - m) / torch.sqrt(x.var() + x.mean() ** "
      "2)\n",
      "");
  expect("class Norm:\n" + forward, "");
}

TEST(HintsFusion, Rotary) {
  expect("def apply(q, cos, sin):\n    return (q * cos) + (rotate_half(q) * sin)\n",
         "PT703:5 torch_npu.npu_rotary_mul\n");
  expect("def apply(q, cos, sin):\n    return q * cos + rotate_half(q) * sin\n", "PT703:5 torch_npu.npu_rotary_mul\n");
  expect("def apply(q):\n    return rotate_half(q)\n", "");
}

TEST(HintsFusion, Attention) {
  expect(
      "def attend(q, k, v):\n    s = torch.matmul(q, k.transpose(-2, -1)) / 8\n    p = F.softmax(s, dim=-1)\n    "
      "return torch.matmul(p, v)\n",
      "PT703:6 torch_npu.npu_fusion_attention\n");
  expect("def attend(q, k, v):\n    return (q @ k.mT).softmax(-1) @ v\n",
         "");  // the order is by place: softmax comes after both
  expect("def attend(q, k, v):\n    a = q @ k.transpose(1, 2)\n    a = a.softmax(dim=-1)\n    return a @ v\n",
         "PT703:6 torch_npu.npu_fusion_attention\n");
  expect("def classify(x, w):\n    return F.softmax(torch.matmul(x, w), dim=-1)\n", "");
  expect("def attend(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v)\n", "");  // is fused already
  expect(
      "import numpy as np\ndef attend(q, k, v):\n    a = q @ k.transpose(1, 2)\n    a = np.softmax(a)\n    return a @ "
      "v\n",
      "");
}

TEST(HintsFusion, Products) {
  expect("class M(nn.Module):\n    def forward(self, x):\n        return F.silu(self.w1(x)) * self.w3(x)\n",
         "PT703:6 torch_npu.npu_swiglu\nPT702:6 torch_npu.npu_silu\n");
  expect(
      "class M(nn.Module):\n    def __init__(self):\n        self.act = nn.SiLU()\n    def forward(self, x):\n        "
      "return self.down(self.act(self.gate(x)) * self.up(x))\n",
      "PT702:6 torch_npu.contrib.module.SiLU\nPT703:8 torch_npu.npu_swiglu\n");
  expect("class M(nn.Module):\n    def forward(self, x):\n        return x * torch.sigmoid(1.702 * x)\n",
         "PT703:6 torch_npu.npu_fast_gelu\n");
  expect("class M(nn.Module):\n    def forward(self, x):\n        return x * torch.sigmoid(x) + 2 * F.gelu(x)\n", "");
  expect("import jax\ndef f(x):\n    return x * jax.nn.sigmoid(1.702 * x)\n", "");
  expect("class M(nn.Module):\n    def forward(self, x):\n        return a * F.gelu(b)\n",
         "PT703:6 torch_npu.npu_geglu\n");
}

TEST(HintsFusion, ModulesAndOptimizers) {
  expect("o = torch.optim.AdamW(m.parameters(), lr=1e-3)\n", "PT701:4 torch_npu.optim.NpuFusedAdamW\n");
  expect("from torch.optim import SGD as S\no = S(m.parameters())\n", "PT701:5 torch_npu.optim.NpuFusedSGD\n");
  expect("class SGD: pass\no = SGD(1)\np = other.AdamW(1)\n", "");
  expect("class DropPath(nn.Module):\n    pass\n", "PT702:4 torch_npu.contrib.module.NpuDropPath\n");
  expect("class DropPath:\n    pass\n", "");
  expect(
      "class B(nn.Module):\n    def __init__(self):\n        self.norm = nn.LayerNorm(4)\n    def forward(self, x):\n  "
      "      return self.norm(x + self.f(x))\n",
      "PT703:8 torch_npu.npu_add_layer_norm\n");
  expect("def f(x):\n    return x.permute(0, 2, 1, 3).contiguous().view(2, -1)\n",
         "PT703:5 torch_npu.npu_confusion_transpose\n");
  expect("def f(x):\n    return x.view(2, -1).permute(0, 1)\n", "");
}

TEST(HintsShapes, BooleanIndex) {
  expect("x = torch.ones(3)\ny = x[x > 0]\n", "PT710:5 \n");
  expect("x = torch.ones(3)\nmask = x > 0\ny = x[mask]\nx[mask] = 0\nz = x[~mask]\n",
         "PT710:6 \nPT703:7 torch_npu.contrib.function.npu_fast_condition_index_put\nPT710:8 \n");
  expect("class M(nn.Module):\n    def forward(self, x, m):\n        return x[m == 1]\n", "PT710:6 \n");
  expect("import pandas as pd\ndf = pd.read_csv('a')\ny = df[df.a > 0]\nz = [1, 2][3 > 2]\nw = names[i]\n", "");
  expect("x = torch.ones(3)\ny = x[i]\nz = x[:, 0]\n", "");
}

TEST(HintsShapes, Calls) {
  expect(
      "x = torch.ones(3)\ni = x.nonzero()\nj = torch.unique(x)\nk = torch.where(x > 0)\nl = torch.where(x > 0, x, 1)\n",
      "PT710:5 torch.Tensor.nonzero\nPT710:6 torch.unique\nPT710:7 \n");
  expect("import numpy as np\na = np.unique(b)\nc = d.unique()\ne = frame['a'].nonzero()\n", "");
  expect("a = F.one_hot(y, 10)\nb = F.one_hot(y)\n",
         "PT702:4 torch_npu.npu_one_hot\nPT710:5 torch.nn.functional.one_hot\n");
}

TEST(HintsPrecision, Types) {
  expect("a = torch.zeros(3, dtype=torch.float64)\nb = torch.ones(3).double()\nc = torch.complex64\n",
         "PT713:4 torch.float64\nPT713:5 torch.Tensor.double\nPT713:6 torch.complex64\n");
  expect("import numpy as np\na = np.float64(1)\nb = word.double()\nc = np.complex64\n", "");
  EXPECT_EQ(list(hints(kHead + "a = torch.bfloat16\n")), "");
  EXPECT_EQ(list(hints(kHead + "a = torch.bfloat16\n", Product::training_series)), "PT713:4 torch.bfloat16\n");
}

TEST(HintsPrecision, WindowsWithoutADtype) {
  expect("a = torch.hann_window(400, device=x.device)\nb = torch.blackman_window(8, device=d)\n",
         "PT712:4 torch.hann_window\nPT712:5 torch.blackman_window\n");
  expect("a = torch.hann_window(400)\nb = torch.hann_window(4, dtype=torch.float32, device=d)\n", "");
  expect("a = torch.hann_window(4, device=d, **options)\nb = scipy.hann_window(4, device=d)\n", "");
}

TEST(HintsTraining, WaitsInTheLoopThatTrains) {
  const std::string loop =
      "for e in range(3):\n    for i, x in enumerate(d):\n        loss = f(x)\n        loss.backward()\n";
  expect(loop + "        total += loss.item()\n        print(loss.item())\n", "PT711:8 torch.Tensor.item\n");
  expect(loop + "        if i % 10 == 0:\n            print(loss.item())\n", "");
  expect(loop + "    print(loss.item())\n", "");
  expect("for x in d:\n    print(f(x).item())\n", "");
  expect(loop + "        torch.cuda.synchronize()\n        y = loss.cpu().numpy()\n",
         "PT711:8 torch.cuda.synchronize\nPT711:9 torch.Tensor.numpy\n");
  expect("o.zero_grad(set_to_none=False)\np.zero_grad()\nq.zero_grad(set_to_none=True)\n",
         "PT711:4 torch.optim.Optimizer.zero_grad\n");
}

TEST(HintsTraining, Loaders) {
  const std::string import = "from torch.utils.data import DataLoader\n";
  EXPECT_EQ(hints(kHead + import + "l = DataLoader(d, 4)\n").size(), 2U);
  EXPECT_EQ(hints(kHead + import + "l = DataLoader(d, 4, num_workers=0, pin_memory=True)\n").size(), 1U);
  expect(import +
             "l = DataLoader(d, 4, num_workers=4, pin_memory=True, persistent_workers=True)\nm = DataLoader(d, "
             "**options)\n",
         "");
  expect("class DataLoader: pass\nl = DataLoader(d)\n", "");
}

TEST(Hints, TheUserForbadeIt) { expect("o = torch.optim.SGD(p)  # updraft: keep\n", ""); }

TEST(Hints, NothingWithoutTorch) {
  EXPECT_EQ(list(hints("import numpy as np\nx = a[a > 0]\nfor i in x:\n    i.backward()\n    i.item()\n")), "");
}

/// Sources in which a row of the tables is found; others are used as a call of their name.
const std::map<std::string_view, std::string>& samples() {
  static const std::string kBlock = "class M(nn.Module):\n    def forward(self, x, y):\n        ";
  static const std::string kLoop = "for x in d:\n    loss = f(x)\n    loss.backward()\n    ";
  static const std::string kTensor = "t = torch.ones(3)\ni = torch.zeros(3, dtype=torch.int32)\n";
  static const std::string kLoader = "l = torch.utils.data.DataLoader(d, 4, ";
  static const std::map<std::string_view, std::string> map = {
      {"pattern:rms_norm",
       "class RMSNorm(nn.Module):\n    def forward(self, x):\n        return self.weight * x * "
       "torch.rsqrt(x.pow(2).mean(-1))\n"},
      {"pattern:rotate_half", "def f(q, cos, sin):\n    return q * cos + rotate_half(q) * sin\n"},
      {"pattern:softmax_attention",
       "def f(q, k, v):\n    s = torch.matmul(q, k.transpose(-2, -1))\n    p = F.softmax(s, dim=-1)\n    return "
       "torch.matmul(p, v)\n"},
      {"pattern:swiglu", kBlock + "return F.silu(x) * y\n"},
      {"pattern:geglu", kBlock + "return F.gelu(x) * y\n"},
      {"pattern:quick_gelu", kBlock + "return x * torch.sigmoid(1.702 * x)\n"},
      {"pattern:permute_reshape", kBlock + "return x.permute(0, 2, 1).contiguous().view(2, -1)\n"},
      {"pattern:scaled_masked_softmax", kBlock + "return torch.softmax((x * 2).masked_fill(y, -10000.0), -1)\n"},
      {"pattern:add_layer_norm", "norm = nn.LayerNorm(4)\nz = norm(x + y)\n"},
      {"pattern:add_rms_norm", "norm = nn.RMSNorm(4)\nz = norm(x + y)\n"},
      {"pattern:bidirectional_lstm", "l = nn.LSTM(4, 4, bidirectional=True)\n"},
      {"pattern:boolean_index", kTensor + "z = t[t > 0]\n"},
      {"pattern:boolean_index_put", kTensor + "t[t > 0] = 1\n"},
      {"pattern:channel_shuffle",
       "def channel_shuffle(x, g):\n    x = x.view(1, g, 2, 3, 3)\n    return x.transpose(1, 2)\n"},
      {"pattern:data_prefetcher",
       "class DataPrefetcher:\n    def __init__(self):\n        self.s = torch.npu.Stream()\n    "
       "def load(self):\n        self.x = self.x.npu(non_blocking=True)\n"},
      {"pattern:dropout_add_softmax", kBlock + "return F.dropout(F.softmax(x + y, -1), 0.1)\n"},
      {"pattern:group_norm_silu", "s = nn.Sequential(nn.GroupNorm(2, 4), nn.SiLU())\n"},
      {"pattern:matmul_transpose", "z = torch.matmul(x, y.transpose(-2, -1))\n"},
      {"pattern:moe_permute", "def route(x, experts):\n    return x[torch.argsort(experts)]\n"},
      {"pattern:moe_unpermute", "def back(out, x, i, experts):\n    return out.index_add_(0, i, x)\n"},
      {"pattern:where_one_argument", "z = torch.where(x > 0)\n"},
      {"pattern:tensor_condition", kTensor + "if t.sum() > 0:\n    pass\n"},
      {"pattern:dataloader_num_workers", kLoader + "pin_memory=True)\n"},
      {"pattern:dataloader_pin_memory", kLoader + "num_workers=2)\n"},
      {"pattern:dataloader_persistent_workers", kLoader + "num_workers=2, pin_memory=True)\n"},
      {"torch.utils.data.DataLoader", kLoader + "shuffle=True)\n"},
      {"torch.nn.functional.one_hot", "z = F.one_hot(y)\n"},
      {"torch.repeat_interleave", kTensor + "z = torch.repeat_interleave(t, i)\n"},
      {"torch.Tensor.repeat_interleave", kTensor + "z = t.repeat_interleave(i)\n"},
      {"torch.hann_window", "z = torch.hann_window(4, device=d)\n"},
      {"torch.hamming_window", "z = torch.hamming_window(4, device=d)\n"},
      {"torch.blackman_window", "z = torch.blackman_window(4, device=d)\n"},
      {"torch.bartlett_window", "z = torch.bartlett_window(4, device=d)\n"},
      {"torch.nn.Module.double", "m = nn.Linear(2, 2)\nm.double()\n"},
      {"torch.equal", kLoop + "torch.equal(x, x)\n"},
      {"torch.allclose", kLoop + "torch.allclose(x, x)\n"},
      {"torch.cuda.synchronize", kLoop + "torch.cuda.synchronize()\n"},
      {"torch.cuda.empty_cache", kLoop + "torch.cuda.empty_cache()\n"},
      {"torch.npu.synchronize", kLoop + "torch.npu.synchronize()\n"},
      {"torch.npu.empty_cache", kLoop + "torch.npu.empty_cache()\n"},
      {"torch.Tensor.item", kLoop + "x.item()\n"},
      {"torch.Tensor.tolist", kLoop + "x.tolist()\n"},
      {"torch.Tensor.cpu", kLoop + "x.cpu()\n"},
      {"torch.Tensor.numpy", kLoop + "x.numpy()\n"},
      {"torch.Tensor.contiguous", kLoop + "x.contiguous()\n"},
  };
  return map;
}

std::string sample(std::string_view name) {
  if (const auto known = samples().find(name); known != samples().end()) return kHead + known->second;
  const std::string_view package = name.substr(0, name.find('.')), last = name.substr(name.rfind('.') + 1);
  if (name.starts_with("torch.Tensor.")) return kHead + "t = torch.ones(3)\nz = t." + std::string(last) + "()\n";
  if (name.starts_with("torch.backends.")) return kHead + std::string(name) + " = True\n";
  return kHead + "import " + std::string(package) + "\nfrom " + std::string(name.substr(0, name.rfind('.'))) +
         " import " + std::string(last) + "\nz = " + std::string(last) + "(a)\nk = " + std::string(name) + "\n";
}

/// No row says something that no source would ever be told.
TEST(Hints, EveryRowIsFound) {
  for (support::Row row = support::Table::of("affinity.tsv").first(); row; row = row.next()) {
    const std::string text = sample(row.key());
    const auto found = hints(text);
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const Hint& h) { return h.suggestion == row.cell(2); }))
        << row.key() << "\n"
        << text << list(found);
  }
  for (support::Row row = support::Table::of("advice.tsv").first(); row; row = row.next()) {
    const auto product = static_cast<Product>(row.cell(2).find('y'));
    const std::string text = sample(row.key());
    const auto found = hints(text, product);
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const Hint& h) { return h.en == row.cell(3); }))
        << row.key() << "\n"
        << text << list(found);
  }
}

}  // namespace
}  // namespace updraft::migrate
