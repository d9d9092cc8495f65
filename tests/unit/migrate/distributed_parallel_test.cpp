// DataParallel and apex without the conversion: reported, and for DataParallel with a change to look at.
#include <gtest/gtest.h>

#include <algorithm>

#include "migrate/names/module.h"
#include "migrate/rewrite/passes.h"
#include "migrate/rules/rule.h"
#include "migrate/source/edit.h"

namespace updraft::migrate {
namespace {

struct Outcome {
  std::string text;
  std::vector<Finding> findings;

  std::size_t count(const std::string& rule) const {
    return static_cast<std::size_t>(
        std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.rule == rule; }));
  }
};

Outcome migrate(const std::string& text, Confidence least) {
  rules::RuleSet rules;
  rules::add_builtin(rules, "pytorch");
  const names::Project project([&](const std::string&) { return text; }, {"main.py"});
  const names::Module module("main.py", text, &project);
  const rewrite::Facts facts;
  Outcome o;
  o.findings = rewrite::python(module, rules, "pytorch", least, {.facts = &facts});
  o.text = source::apply(text, o.findings);
  return o;
}

TEST(DataParallel, IsAChangeForReview) {
  const std::string text = "import torch\nfrom torch import nn\nm = nn.DataParallel(net, device_ids=[0, 1]).cuda()\n";
  const Outcome likely = migrate(text, Confidence::Likely);
  EXPECT_EQ(likely.count("PT320"), 1U);
  EXPECT_NE(likely.text.find("m = nn.DataParallel(net, device_ids=[0, 1]).npu()"), std::string::npos) << likely.text;
  const Outcome review = migrate(text, Confidence::Review);
  EXPECT_NE(review.text.find(
                "m = nn.parallel.DistributedDataParallel(net, device_ids=[torch_npu.npu.current_device()]).npu()"),
            std::string::npos)
      << review.text;
  EXPECT_EQ(migrate(review.text, Confidence::Review).text, review.text);
}

TEST(DataParallel, InAllItsForms) {
  const Outcome o = migrate(
      "import torch\nimport torch.nn as N\nfrom torch.nn import DataParallel as DP\na = torch.nn.DataParallel(m)\n"
      "b = N.parallel.DataParallel(m.cuda(), dim=0)\nc = DP(m, [0])\nd = DP(*args)\n",
      Confidence::Review);
  EXPECT_EQ(o.count("PT320"), 4U);
  for (const char* line :
       {"a = torch.nn.parallel.DistributedDataParallel(m, device_ids=[torch_npu.npu.current_device()])\n",
        "b = N.parallel.DistributedDataParallel(m.npu(), device_ids=[torch_npu.npu.current_device()])\n",
        "c = torch.nn.parallel.DistributedDataParallel(m, device_ids=[torch_npu.npu.current_device()])\n",
        "d = DP(*args)\n"})
    EXPECT_NE(o.text.find(line), std::string::npos) << line << "in\n" << o.text;
}

TEST(DataParallel, OthersOfTheNameStay) {
  const std::string text =
      "import torch\nclass DataParallel: pass\na = DataParallel(m)\nb = x.DataParallel(m)\n"
      "c = isinstance(m, torch.nn.DataParallel)\nd = torch.nn.DataParallel(m)  # updraft: keep\n";
  const Outcome o = migrate(text, Confidence::Review);
  EXPECT_EQ(o.count("PT320"), 0U);
  EXPECT_EQ(o.text, text);
}

TEST(Apex, AmpStaysAndFusedOptimizersAreNamed) {
  const std::string text =
      "import torch\nfrom apex import amp\nfrom apex.optimizers import FusedAdam\nimport amp_C, apex\n"
      "m, o = amp.initialize(m, FusedAdam(p), opt_level='O1')\nd = apex.parallel.DistributedDataParallel(m)\n";
  const Outcome o = migrate(text, Confidence::Likely);
  EXPECT_EQ(o.text, text);  // imports are never deleted
  const auto says = [&](const std::string& api, const std::string& suggestion) {
    return std::any_of(o.findings.begin(), o.findings.end(),
                       [&](const Finding& f) { return f.api == api && f.suggestion == suggestion; });
  };
  EXPECT_TRUE(says("apex.optimizers.FusedAdam", "torch_npu.optim.NpuFusedAdamW"));
  EXPECT_TRUE(says("apex.parallel.DistributedDataParallel", "torch.nn.parallel.DistributedDataParallel"));
  EXPECT_TRUE(std::any_of(o.findings.begin(), o.findings.end(),
                          [](const Finding& f) { return f.api == "amp_C" && f.from.line == 4; }));
  EXPECT_TRUE(std::any_of(o.findings.begin(), o.findings.end(),
                          [](const Finding& f) { return f.api.starts_with("apex.amp") || f.api == "apex"; }));
}

}  // namespace
}  // namespace updraft::migrate
