// The model's wrapping, and where processes begin and end.
#include "distributed_case.h"

namespace updraft::migrate {
namespace {

const std::string kHead = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader\n";
const std::string kWrap =
    "model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[torch.npu.current_device()])\n";

/// A training around what makes the model.
std::string script(const std::string& made, const std::string& more = "") {
  return kHead + "def main():\n" + made +
         "    optimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
         "    loader = DataLoader(data, 4, shuffle=True)\n"
         "    for epoch in range(3):\n"
         "        for x, y in loader:\n"
         "            model(x).sum().backward()\n" +
         more + "if __name__ == '__main__':\n    main()\n";
}

TEST(DistributedModel, AfterItsLastMove) {
  const Converted c = convert(script("    model = Net()\n    model.train()\n    model = model.cuda()\n"));
  EXPECT_TRUE(c.converted);
  EXPECT_HAS(c.main(), "    model = model.npu()\n    " + kWrap);
  expect_idempotent(c);
}

TEST(DistributedModel, AfterConditionalMoves) {
  const Converted c = convert(script(
      "    if big:\n        model = Big()\n    else:\n        model = Net()\n    if cuda:\n        model.cuda()\n"));
  EXPECT_HAS(c.main(), "        model.npu()\n    " + kWrap);
}

TEST(DistributedModel, ChainedMove) {
  const Converted c = convert(script("    model = Net().to('cuda')  # there\n"));
  EXPECT_HAS(c.main(), "    model = Net().to('npu')  # there\n    " + kWrap);
}

TEST(DistributedModel, MovesInsideTheTrainingDoNotCount) {
  const Converted c = convert(script("    model = Net().cuda()\n", "        model.cpu()\n        model.cuda()\n"));
  EXPECT_HAS(c.main(), "    model = Net().npu()\n    " + kWrap);
  EXPECT_HAS(c.main(), "        model.npu()\nif __name__");
}

TEST(DistributedModel, ALastRebuildAfterTheTrainingIsNotWrapped) {
  const Converted c = convert(script("    model = Net().cuda()\n", "    model = Net().cuda()\n    model.eval()\n"));
  EXPECT_HAS(c.main(), "    model = Net().npu()\n    " + kWrap + "    optimizer");
  EXPECT_HAS(c.main(), "    model = Net().npu()\n    model.eval()\n");
}

TEST(DistributedModel, MadeByAnotherFunction) {
  const Converted c = convert(kHead +
                              "def build():\n    model = Net()\n    model = model.cuda()\n    return model\n"
                              "def main():\n    model = build()\n    model.train()\n"
                              "    for epoch in range(2):\n        model(1).backward()\n"
                              "if __name__ == '__main__':\n    main()\n");
  EXPECT_HAS(c.main(), "    model = build()\n    " + kWrap);
  EXPECT_HAS(c.main(), "    model = model.npu()\n    return model\n");
  expect_idempotent(c);
}

TEST(DistributedModel, MadeWithOthers) {
  const Converted c = convert(kHead +
                              "def build():\n    model = Net().cuda()\n    opt = torch.optim.Adam(model.parameters())\n"
                              "    return model, opt\n"
                              "def main():\n    model, opt = build()\n    model.train()\n    print(model.config)\n"
                              "if __name__ == '__main__':\n    main()\n");
  EXPECT_HAS(c.main(), "    model, opt = build()\n    " + kWrap);
  EXPECT_HAS(c.main(), "model.module.config");
  EXPECT_HAS(c.main(), "torch.optim.Adam(model.parameters())");
}

TEST(DistributedModel, InAnotherFile) {
  const Converted c = convert(Files{
      {"main.py", "from trainer import run\nif __name__ == '__main__':\n    run()\n"},
      {"trainer.py",
       kHead + "def run():\n    model = Net().cuda()\n    model.train()\n    torch.save(model.state_dict(), 'a')\n"},
      {"other.py", kHead + "def run():\n    model = Net().cuda()\n    model.train()\n"}});
  EXPECT_HAS(c.files.at("trainer.py"), "    model = Net().npu()\n    " + kWrap);
  EXPECT_HAS(c.files.at("trainer.py"),
             "    if torch.distributed.get_rank() == 0:\n        torch.save(model.module.state_dict(), 'a')");
  EXPECT_HAS(c.main(), "import os\nimport torch\nfrom trainer import run\n");
  EXPECT_HAS(c.main(), "    torch.distributed.init_process_group(backend=\"hccl\"");
  EXPECT_LACKS(c.files.at("other.py"), "Distributed");
}

TEST(DistributedModel, OfAnObject) {
  const Converted c = convert(kHead +
                              "class Trainer:\n"
                              "    def __init__(self, data):\n"
                              "        self.model = Net()\n"
                              "        self.model.to('cuda')\n"
                              "        self.loader = DataLoader(data, shuffle=True)\n"
                              "    def epoch(self):\n"
                              "        self.model.train()\n"
                              "        for x in self.loader:\n"
                              "            self.model(x).backward()\n"
                              "    def fit(self):\n"
                              "        for e in range(9):\n"
                              "            self.epoch()\n"
                              "            torch.save(self.model.state_dict(), 'x.pt')\n"
                              "def main():\n    t = Trainer([1])\n    t.fit()\n    print(t.model.name)\n"
                              "if __name__ == '__main__':\n    main()\n");
  EXPECT_HAS(c.main(),
             "        self.model.to('npu')\n        self.model = torch.nn.parallel.DistributedDataParallel(self.model, "
             "device_ids=[torch.npu.current_device()])\n");
  EXPECT_HAS(c.main(),
             "        for e in range(9):\n            self.loader.sampler.set_epoch(e)\n            self.epoch()\n");
  EXPECT_HAS(c.main(), "torch.save(self.model.module.state_dict(), 'x.pt')");
  EXPECT_HAS(c.main(), "t.model.module.name");
  expect_idempotent(c);
}

TEST(DistributedModel, WhatIsAskedOfItLater) {
  const Converted c = convert(script("    model = Net().cuda()\n    model.load_state_dict(s)\n",
                                     "    model.eval()\n    model.load_state_dict(s)\n    n = model.fc.weight\n"
                                     "    if hasattr(model.module, 'fc'): pass\n    m = hasattr(model, 'module')\n"));
  EXPECT_HAS(c.main(), kWrap + "    model.module.load_state_dict(s)\n    optimizer");
  EXPECT_HAS(c.main(), "    model.eval()\n    model.module.load_state_dict(s)\n    n = model.module.fc.weight\n");
  EXPECT_HAS(c.main(), "hasattr(model.module, 'fc')");
  EXPECT_HAS(c.main(), "hasattr(model, 'module')");
}

TEST(DistributedModel, NamesOfOthersStay) {
  const Converted c =
      convert(script("    model = Net().cuda()\n") +
              "def unrelated(model):\n    return model.fc\nclass A:\n    model = 1\n    x = model.real\n");
  EXPECT_HAS(c.main(), "    return model.fc\n");
  EXPECT_HAS(c.main(), "x = model.real");
}

TEST(DistributedModel, AParameterThatIsAlsoGivenOthers) {
  const std::string before =
      kHead +
      "def size(net):\n    return net.width\ndef main():\n    model = Net().cuda()\n    model.train()\n"
      "    print(size(model))\n";
  const std::string tail = "if __name__ == '__main__':\n    main()\n";
  EXPECT_HAS(convert(before + tail).main(), "    return net.module.width\n");
  EXPECT_HAS(convert(before + "    print(size(teacher))\n" + tail).main(),
             "    return getattr(net, \"module\", net).width\n");
}

TEST(DistributedModel, InPlaceOfDataParallel) {
  const Converted c =
      convert(script("    model = Net()\n    if torch.cuda.device_count() > 1:\n        print('cards')\n"
                     "        model = nn.DataParallel(model)\n    model.to('cuda')\n"));
  EXPECT_LACKS(c.main(), "nn.DataParallel");
  EXPECT_HAS(c.main(), "    model.to('npu')\n    " + kWrap);
  const Converted alone =
      convert(script("    model = Net().cuda()\n    if n > 1:\n        model = nn.DataParallel(model)\n"));
  EXPECT_LACKS(alone.main(), "nn.DataParallel");
  EXPECT_HAS(alone.main(), "    " + kWrap);
  const Converted made = convert(script("    model = nn.DataParallel(Net(), device_ids=[0, 1]).cuda()\n"));
  EXPECT_HAS(made.main(), "    model = Net().npu()\n    " + kWrap);
  const Converted again = convert(script("    model = Net().cuda()\n    model = torch.nn.DataParallel(model)\n",
                                         "    torch.save(model.module.state_dict(), 'f')\n"));
  EXPECT_LACKS(again.main(), "nn.DataParallel");
  EXPECT_HAS(again.main(), "torch.save(model.module.state_dict(), 'f')");
}

TEST(DistributedModel, OnlyTheOneThatIsTrained) {
  const Converted c = convert(script("    model = Net().cuda()\n") +
                              "def test():\n    model = Net().cuda()\n    model.eval()\n    return model(1)\n");
  EXPECT_HAS(c.main(), "    model = Net().npu()\n    model.eval()\n");
}

TEST(DistributedModel, AMethodInTheTrainingIsPointedOut) {
  const Converted c = convert(kHead +
                              "def main():\n    model = Net().cuda()\n    model.train()\n"
                              "    for e in range(2):\n        loss = model.loss(e)\n        loss.backward()\n"
                              "if __name__ == '__main__':\n    main()\n");
  EXPECT_HAS(c.main(), "model.module.loss(e)");
  EXPECT_TRUE(c.finds("PT354"));
}

TEST(DistributedEntry, ModuleLevelCode) {
  const Converted c = convert(
      "\"\"\"Doc.\"\"\"\nimport torch\nfrom net import Net\n\nmodel = Net().cuda()\nmodel.train()\nfor i in range(3):\n"
      "    model(i).backward()\nprint('done')\n");
  EXPECT_HAS(c.main(),
             "\"\"\"Doc.\"\"\"\nimport os\nimport torch\nimport torch_npu\nfrom net import Net\n# One process for each "
             "NPU, as "
             "torchrun starts them; started alone, this is the only one.\nlocal_rank = "
             "int(os.environ.get(\"LOCAL_RANK\", 0))\n"
             "torch.npu.set_device(local_rank)\ntorch.distributed.init_process_group(");
  EXPECT_TRUE(c.main().ends_with(
      "torch.distributed.barrier(device_ids=[local_rank])\ntorch.distributed.destroy_process_group()\n"))
      << c.main();
  expect_idempotent(c);
}

TEST(DistributedEntry, TorchIsTheLastImport) {
  const Converted c = convert("import os\nimport torch\nmodel = Net().cuda()\nmodel.train()\n");
  EXPECT_HAS(c.main(), "import os\nimport torch\nimport torch_npu\n# One process");
}

TEST(DistributedEntry, NoNewlineAtTheEndAndWindowsLines) {
  const Converted c = convert(
      "import torch\r\ndef main():\r\n\tmodel = Net().cuda()\r\n\tmodel.train()\r\n\ttorch.save(1, 'f')\r\nif "
      "__name__ == '__main__':\r\n\tmain()");
  EXPECT_HAS(c.main(), "\tmodel = Net().npu()\r\n\t" + kWrap.substr(0, kWrap.size() - 1) + "\r\n");
  EXPECT_HAS(c.main(), "\tif torch.distributed.get_rank() == 0:\r\n\t\ttorch.save(1, 'f')\r\n");
  EXPECT_TRUE(
      c.main().ends_with("\tmain()\r\n\ttorch.distributed.barrier(device_ids=[local_rank])\r\n\t"
                         "torch.distributed.destroy_process_group()"));
  for (std::size_t at = 0; (at = c.main().find('\n', at)) != std::string::npos; ++at) EXPECT_EQ(c.main()[at - 1], '\r');
}

TEST(DistributedEntry, OneLineGuardAndStatus) {
  const std::string body = "def main():\n    model = Net().cuda()\n    model.train()\n";
  const Converted one = convert("import torch\n" + body + "if __name__ == '__main__': main()\n");
  EXPECT_HAS(one.main(), "if __name__ == '__main__': local_rank = ");
  EXPECT_HAS(one.main(), "; main(); torch.distributed.barrier(");
  const Converted status = convert("import torch, sys\n" + body + "if __name__ == '__main__':\n    sys.exit(main())\n");
  EXPECT_HAS(status.main(), "    status = main()\n    torch.distributed.barrier(");
  EXPECT_HAS(status.main(), "    torch.distributed.destroy_process_group()\n    sys.exit(status)\n");
  expect_idempotent(status);
}

TEST(DistributedEntry, TakenNamesAndAliases) {
  const Converted c = convert(
      "import os as system\nimport torch as T\nlocal_rank = 3\ndef main():\n    model = Net().cuda(0)\n"
      "    model.train()\nif __name__ == '__main__':\n    main()\n");
  EXPECT_HAS(c.main(),
             "    npu_local_rank = int(system.environ.get(\"LOCAL_RANK\", 0))\n    T.npu.set_device(npu_local_rank)\n");
  EXPECT_HAS(c.main(), "Net().npu(npu_local_rank)\n    model = T.nn.parallel.DistributedDataParallel(model");
}

TEST(DistributedDevices, FixedCards) {
  const Converted c = convert(
      "import os\nimport torch\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nearly = torch.device('cuda:0')\n"
      "def main(args):\n    d = torch.device(f'cuda:{args.gpu}')\n    e = torch.device('cuda', 0)\n"
      "    f = torch.device('cuda:{}'.format(args.gpu))\n    g = 'cuda:%d' % args.gpu\n    "
      "torch.cuda.set_device(args.gpu)\n"
      "    model = Net().cuda(args.gpu)\n    model.train()\n    x = torch.ones(1).cuda(d, non_blocking=True)\n"
      "    y = torch.ones(1).to('cuda')\n    z = torch.load(p, map_location={'cuda:0': 'cuda:1'})\n"
      "    w = torch.ones(1).cuda(0, non_blocking=True)\nif __name__ == '__main__':\n    main(parse())\n");
  EXPECT_LACKS(c.main(), "VISIBLE_DEVICES");
  EXPECT_HAS(c.main(), "early = torch.device(\"npu\")\n");
  EXPECT_HAS(c.main(),
             "    d = torch.device(f\"npu:{local_rank}\")\n    e = torch.device('npu', local_rank)\n"
             "    f = torch.device(f\"npu:{local_rank}\")\n");
  EXPECT_HAS(c.main(), "    torch.npu.set_device(local_rank)\n    model = Net().npu(local_rank)\n");
  EXPECT_HAS(c.main(), "torch.ones(1).npu(d, non_blocking=True)\n    y = torch.ones(1).to('npu')\n");
  EXPECT_HAS(c.main(), "w = torch.ones(1).npu(local_rank, non_blocking=True)");
  EXPECT_HAS(c.main(), "{'npu:0': ");
}

TEST(DistributedAlready, IsLeftAlone) {
  const std::string text =
      "import torch\nimport torch.distributed as dist\ndef main():\n    dist.init_process_group('hccl')\n"
      "    model = Net().npu()\n    model.train()\nif __name__ == '__main__':\n    main()\n";
  const Converted c = convert(text);
  EXPECT_FALSE(c.converted);
  EXPECT_TRUE(c.says("init_process_group at main.py:4"));
  EXPECT_EQ(c.main(), text);
  const Converted far = convert(
      Files{{"main.py",
             "import torch\nfrom util import init\nif __name__ == '__main__':\n    init()\n    model = N().npu()\n"},
            {"util.py", "import torch\ndef init():\n    torch.distributed.init_process_group('hccl')\n"}});
  EXPECT_FALSE(far.converted);
  EXPECT_TRUE(far.says("util.py:3"));
  for (const char* by :
       {"from accelerate import Accelerator\na = Accelerator()\n",
        "import deepspeed\nd = deepspeed.initialize(model=1)\n", "import pytorch_lightning as pl\nt = pl.Trainer()\n",
        "from torch.nn.parallel import DistributedDataParallel as DDP\nm = DDP(n)\n"})
    EXPECT_FALSE(convert("import torch\n" + std::string(by) + "model = Net().cuda()\nmodel.train()\n").converted) << by;
}

TEST(DistributedAlready, NamesakesDoNotCount) {
  EXPECT_TRUE(
      convert("import torch\nclass Trainer: pass\nt = Trainer()\ndef init(): pass\ninit()\nmodel = Net().cuda()\n")
          .converted);
}

TEST(DistributedModel, BrokenSourcesAreSurvived) {
  for (const char* text :
       {"import torch\nmodel = Net()\nmodel.train()\nif __name__ == '__main__':\n",
        "import torch\ndef f(model):\n    model = model.cuda()\nmodel = g()\nf(model)\nmodel.train()\n",
        "import torch\nmodel =\nfor e in range(", "model = 1", "import torch\nmodel = model.cuda()"})
    convert(text);
}

TEST(DistributedModel, NothingIsHalfDone) {
  const Converted c = convert(script("    model = Net().cuda()\n"), "net");
  EXPECT_FALSE(c.converted);
  EXPECT_TRUE(c.says("no variable net"));
  EXPECT_LACKS(c.main(), "Distributed");
  EXPECT_LACKS(c.main(), "init_process_group");
  EXPECT_THROW(convert(Files{{"train.py", "import torch\n"}}), std::exception);
}

}  // namespace
}  // namespace updraft::migrate
