// Samplers, epochs, saving and progress of converted scripts.
#include "distributed_case.h"

namespace updraft::migrate {
namespace {

const std::string kHead = "import torch\nfrom torch.utils.data import DataLoader\n";
const std::string kTail = "if __name__ == '__main__':\n    main()\n";

std::string script(const std::string& loaders, const std::string& before = "") {
  return kHead + before + "def main():\n    model = Net().cuda()\n    model.train()\n" + loaders +
         "    for epoch in range(3):\n        for x in loader:\n            model(x).backward()\n"
         "        for x in other:\n            model(x)\n" +
         kTail;
}

std::string sampler(const std::string& data, bool shuffle = true) {
  return "sampler=torch.utils.data.distributed.DistributedSampler(" + data +
         ", shuffle=" + (shuffle ? "True" : "False") + ")";
}

TEST(DistributedLoader, ShuffleMovesIntoTheSampler) {
  const Converted c =
      convert(script("    loader = DataLoader(ds, batch_size=4, shuffle=True, drop_last=True)\n"
                     "    other = DataLoader(vs, batch_size=4, shuffle=False)\n"));
  EXPECT_HAS(c.main(), "loader = DataLoader(ds, batch_size=4, " + sampler("ds") + ", drop_last=True)\n");
  EXPECT_HAS(c.main(), "other = DataLoader(vs, batch_size=4, shuffle=False)\n");
  EXPECT_HAS(c.main(),
             "    for epoch in range(3):\n        loader.sampler.set_epoch(epoch)\n        for x in loader:\n");
  EXPECT_LACKS(c.main(), "other.sampler");
  expect_idempotent(c);
}

TEST(DistributedLoader, PositionalShuffle) {
  const Converted c = convert(script("    loader = DataLoader(ds, 32, True)\n    other = DataLoader(vs, 32, False)\n"));
  EXPECT_HAS(c.main(), "loader = DataLoader(ds, 32, False, " + sampler("ds") + ")\n");
  EXPECT_HAS(c.main(), "other = DataLoader(vs, 32, False)\n");
}

TEST(DistributedLoader, NoneForASamplerAndTrailingThings) {
  const Converted c = convert(script("    loader = DataLoader(ds, 32, True, None, None, 4)\n"));
  EXPECT_HAS(c.main(), "DataLoader(ds, 32, False, " + sampler("ds").substr(8) + ", None, 4)");
  const Converted comma =
      convert(script("    loader = DataLoader(\n        ds,\n        num_workers=2,  # two\n    )\n"));
  EXPECT_HAS(comma.main(), "        num_workers=2, " + sampler("ds", false) + ",  # two\n    )\n");
  const Converted stars = convert(script("    loader = DataLoader(ds, 4, shuffle=True, **kw)\n"));
  EXPECT_HAS(stars.main(), "DataLoader(ds, 4, " + sampler("ds") + ", **kw)");
}

TEST(DistributedLoader, ADatasetMadeInPassingIsMadeOnce) {
  const Converted c = convert(script("    loader = DataLoader(Data('train'), 4, shuffle=True)\n"));
  EXPECT_HAS(c.main(), "DataLoader(train_dataset := Data('train'), 4, " + sampler("train_dataset") + ")");
  const Converted k =
      convert(script("    train_dataset = 1\n    loader = DataLoader(batch_size=4, dataset=Data(1), shuffle=True)\n"));
  EXPECT_HAS(k.main(), "dataset=(train_dataset_ := Data(1)), " + sampler("train_dataset_"));
}

TEST(DistributedLoader, WithoutShuffleTheLoopsSayWhichTrains) {
  const Converted c = convert(script("    loader = DataLoader(ds, 4)\n    other = DataLoader(vs, 4)\n"));
  EXPECT_HAS(c.main(), "loader = DataLoader(ds, 4, " + sampler("ds", false) + ")\n");
  EXPECT_HAS(c.main(), "other = DataLoader(vs, 4)\n");
}

TEST(DistributedLoader, AShuffledLoaderThatOnlyEvaluatesStays) {
  const Converted c =
      convert(script("    loader = DataLoader(ds, 4, shuffle=True)\n    other = DataLoader(vs, 4, shuffle=True)\n"));
  EXPECT_HAS(c.main(), "other = DataLoader(vs, 4, shuffle=True)\n");
}

TEST(DistributedLoader, OwnSamplersAreForReview) {
  for (const char* made : {"DataLoader(ds, batch_sampler=bs)", "DataLoader(ds, sampler=WeightedRandomSampler(w, 3))",
                           "DataLoader(Stream(), 4)", "DataLoader(*parts)"}) {
    const Converted c =
        convert(script("    loader = " + std::string(made) + "\n",
                       "from torch.utils.data import IterableDataset\nclass Stream(IterableDataset):\n    pass\n"));
    EXPECT_TRUE(c.converted);
    EXPECT_HAS(c.main(), "loader = " + std::string(made) + "\n");
    EXPECT_TRUE(c.finds("PT357")) << made;
    EXPECT_LACKS(c.main(), "set_epoch");
  }
}

TEST(DistributedLoader, LoadersInADictionaryAreForReview) {
  const std::string made = "loaders = {x: DataLoader(sets[x], 4, shuffle=True) for x in ['train', 'val']}\n";
  const Converted c = convert(kHead + "def main():\n    model = Net().cuda()\n    model.train()\n    " + made + kTail);
  EXPECT_HAS(c.main(), made);
  EXPECT_TRUE(c.finds("PT357"));
}

TEST(DistributedLoader, OneFunctionForBothIsForReview) {
  const std::string made = "    return DataLoader(ds, 4, shuffle=train)\n";
  const Converted c =
      convert(script("    loader = make(True)\n    other = make(False)\n", "def make(train):\n" + made));
  EXPECT_HAS(c.main(), made);
  EXPECT_TRUE(c.finds("PT357"));
}

TEST(DistributedLoader, NamesakesAreLeftAlone) {
  const std::string own = "class DataLoader:\n    pass\n";
  const std::string text = "import torch\n" + own +
                           "def main():\n    model = Net().cuda()\n    model.train()\n"
                           "    loader = DataLoader(1, shuffle=True)\n" +
                           kTail;
  EXPECT_HAS(convert(text).main(), "DataLoader(1, shuffle=True)");
}

TEST(DistributedEpoch, TheLoopAroundTheLoadersLoop) {
  const Converted c =
      convert(kHead +
              "def train_epoch(model, batches, epoch_name):\n"
              "    for epoch_part in (1, 2):\n        pass\n"
              "    for i, x in enumerate(batches):\n        model(x).backward()\n"
              "def main():\n    model = Net().cuda()\n    model.train()\n    loader = DataLoader(ds, 4, shuffle=True)\n"
              "    for epoch in names:\n        print(epoch)\n"
              "    for fold in range(5):\n        for ep in range(fold, 9):\n            lr(ep)\n"
              "            train_epoch(model, loader, 'x')\n" +
              kTail);
  EXPECT_HAS(c.main(),
             "        for ep in range(fold, 9):\n            loader.sampler.set_epoch(ep)\n            lr(ep)\n");
  EXPECT_EQ(c.main().find("set_epoch"), c.main().rfind("set_epoch")) << c.main();
}

TEST(DistributedEpoch, WhileAndProgressBars) {
  const Converted c = convert(
      kHead +
      "from tqdm import tqdm\ndef main():\n    model = Net().cuda()\n    model.train()\n"
      "    loader = DataLoader(ds, 4, shuffle=True)\n    done = 0\n    while done < 9:\n"
      "        bar = tqdm(loader)\n        for x in bar:\n            model(x).backward()\n        done += 1\n" +
      kTail);
  EXPECT_HAS(c.main(),
             "    while done < 9:\n        loader.sampler.set_epoch(done)\n        bar = tqdm(loader, "
             "disable=torch.distributed.get_rank() != 0)\n");
}

TEST(DistributedEpoch, LoadersOfAFunctionOfAnotherFile) {
  const Converted c = convert(Files{
      {"main.py",
       "import torch\nfrom data import loaders\ndef main():\n    model = Net().cuda()\n    model.train()\n"
       "    train, val = loaders(4)\n    for e in range(3):\n        for x in train:\n            model(x).backward()\n"
       "        for x in val:\n            model(x)\n" +
           kTail},
      {"data.py",
       "from torch.utils import data\ndef loaders(n):\n    a = data.DataLoader(A(), n)\n    b = data.DataLoader(B(), "
       "n)\n    return a, b\n"}});
  EXPECT_HAS(c.files.at("data.py"), "a = data.DataLoader(train_dataset := A(), n, " + sampler("train_dataset", false) +
                                        ")\n    b = data.DataLoader(B(), n)\n");
  EXPECT_HAS(c.files.at("data.py"), "import torch\n");
  EXPECT_HAS(c.main(), "    for e in range(3):\n        train.sampler.set_epoch(e)\n        for x in train:\n");
}

TEST(DistributedEpoch, NoLoopOverEpochsIsSaid) {
  const Converted c =
      convert(kHead +
              "def main():\n    model = Net().cuda()\n    model.train()\n    loader = DataLoader(ds, shuffle=True)\n"
              "    for x in loader:\n        model(x).backward()\n" +
              kTail);
  EXPECT_LACKS(c.main(), "set_epoch");
  EXPECT_TRUE(c.says("no loop over epochs"));
}

TEST(DistributedOutput, OneProcessSaves) {
  const Converted c =
      convert(kHead +
              "import os, shutil\ndef save(state, best):\n    torch.save(state, 'a')  # all\n    if best: "
              "shutil.copyfile('a', 'b')\n"
              "    if best:\n        torch.save(\n            state,\n            'c')\n        os.replace('c', 'd')\n"
              "def main():\n    model = Net().cuda()\n    model.train()\n    os.makedirs('out')\n    os.mkdir('in')\n"
              "    os.makedirs('there', exist_ok=True)\n    shutil.copyfile('x', 'y')\n    t = torch.save\n" +
              kTail);
  EXPECT_HAS(c.main(), "    if torch.distributed.get_rank() == 0:\n        torch.save(state, 'a')  # all\n");
  EXPECT_HAS(c.main(), "    if best: torch.distributed.get_rank() == 0 and shutil.copyfile('a', 'b')\n");
  EXPECT_HAS(c.main(),
             "        if torch.distributed.get_rank() == 0:\n            torch.save(\n            state,\n            "
             "'c')\n            os.replace('c', 'd')\n");
  EXPECT_HAS(c.main(),
             "os.makedirs('out', exist_ok=True)\n    os.makedirs('in', exist_ok=True)\n    os.makedirs('there', "
             "exist_ok=True)\n");
  EXPECT_HAS(c.main(), "\n    shutil.copyfile('x', 'y')\n");
  expect_idempotent(c);
}

TEST(DistributedOutput, OneProcessDraws) {
  const Converted c =
      convert(kHead +
              "import matplotlib.pyplot as plt\ndef main():\n    model = Net().cuda()\n    model.train()\n"
              "    plt.plot([1])\n    plt.savefig('a.png')\n" +
              kTail);
  EXPECT_HAS(c.main(), "    plt.plot([1])\n    if torch.distributed.get_rank() == 0:\n        plt.savefig('a.png')\n");
}

TEST(DistributedOutput, OneProcessTellsTheProgress) {
  const Converted c = convert(
      kHead +
      "def check(model):\n    return model(1)\ndef helper(x):\n    print(x)\ndef main():\n    model = Net().cuda()\n   "
      " model.train()\n"
      "    for epoch in range(3):\n        model(1).backward()\n        print('epoch', epoch)\n        print('of', 3)\n"
      "        print(check(model))\n        print(model(2))\n        print(1, file=f)\n" +
      kTail);
  EXPECT_HAS(
      c.main(),
      "        if torch.distributed.get_rank() == 0:\n            print('epoch', epoch)\n            print('of', 3)\n");
  EXPECT_HAS(c.main(),
             "        print(check(model))\n        print(model(2))\n        print(1, file=f)\n");  // all take part in
                                                                                                   // the model
  EXPECT_HAS(c.main(), "def helper(x):\n    print(x)\n");
}

TEST(DistributedLauncher, QuotesTheScript) {
  EXPECT_HAS(rewrite::distributed_launcher("a dir/it's.py"), "'a dir/it'\\''s.py' \"$@\"\n");
  EXPECT_TRUE(rewrite::distributed_launcher("m.py").starts_with("#!/bin/bash\n"));
}

}  // namespace
}  // namespace updraft::migrate
