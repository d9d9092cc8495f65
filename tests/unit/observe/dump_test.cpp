// The parts of dump that need no device: files, their writer, configurations, figures of tensors.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "observe/dump/dump_file.h"
#include "observe/dump/file_writer.h"
#include "observe/dump/names.h"
#include "observe/dump/settings.h"
#include "observe/dump/statistics.h"
#include "observe/overflow/opdebug.h"

namespace updraft::dump {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("updraft_dump_" + std::to_string(next_timestamp()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

FileHeader sample() {
  FileHeader header;
  header.time = 1700000000000000;
  header.op_name = "net/conv.1";
  FileTensor input;
  input.type = type_number(DType::Float16);
  input.format = 0;
  input.dims = {1, 3, 8, 8};
  input.size = 384;
  input.address = 0x7f0012345600;
  FileTensor output = input;
  output.type = type_number(DType::Float);
  output.dims = {};
  output.size = 4;
  output.original_name = "conv";
  output.original_index = 2;
  header.inputs = {input, input};
  header.outputs = {output};
  return header;
}

TEST(DumpFile, IsReadAsItWasWritten) {
  std::string file = write_header(sample());
  const size_t header = file.size();
  file.append(384 * 2 + 4, '\0');
  uint64_t data = 0;
  const FileHeader read = read_header(std::as_bytes(std::span(file)), file.size(), &data);
  EXPECT_EQ(data, header);
  EXPECT_EQ(read.version, "2.0");
  EXPECT_EQ(read.op_name, "net/conv.1");
  EXPECT_EQ(read.time, 1700000000000000u);
  ASSERT_EQ(read.inputs.size(), 2u);
  EXPECT_EQ(read.inputs[1].dims, (std::vector<int64_t>{1, 3, 8, 8}));
  EXPECT_EQ(read.inputs[1].address, 0x7f0012345600u);
  EXPECT_EQ(read.outputs[0].original_name, "conv");
  EXPECT_EQ(read.outputs[0].original_index, 2);
  EXPECT_TRUE(read.outputs[0].dims.empty());
  const auto json = nlohmann::json::parse(header_to_json(read));
  EXPECT_EQ(json["input"][0]["shape"]["dim"], (std::vector<int>{1, 3, 8, 8}));
  EXPECT_EQ(json["output"][0]["data_type"], 1);
  EXPECT_EQ(json["input"][0]["size"], 384);
}

TEST(DumpFile, DamagedFilesAreRefused) {
  std::string file = write_header(sample());
  file.append(384 * 2 + 4, '\0');
  auto refused = [](const std::string& bytes) {
    try {
      read_header(std::as_bytes(std::span(bytes)), bytes.size(), nullptr);
    } catch (const Error& e) { return e.code() == code::kAclParseFile; }
    return false;
  };
  for (size_t size = 0; size < file.size(); size += size < 300 ? 1 : 101)
    EXPECT_TRUE(refused(file.substr(0, size))) << size;
  std::string long_header = file;
  long_header[7] = '\x7f';
  EXPECT_TRUE(refused(long_header));
}

TEST(DumpFile, TypesHaveTheNumbersOfTheProtocol) {
  EXPECT_EQ(type_number(DType::Float), 1);
  EXPECT_EQ(type_number(DType::Int64), 8);
  EXPECT_EQ(type_number(DType::BFloat16), 27);
  EXPECT_EQ(type_number(DType::String), 0);
  EXPECT_EQ(type_of_number(2), DType::Float16);
  EXPECT_EQ(type_name(27), "bfloat16");
  EXPECT_EQ(type_size(17), 16u);
}

TEST(DumpWriter, WritesAllWithLittleMemory) {
  const Folder folder;
  FileWriter writer(size_t{1} << 20);
  constexpr int kThreads = 4, kFiles = 50;
  std::vector<std::thread> team;
  for (int t = 0; t < kThreads; ++t)
    team.emplace_back([&, t] {
      for (int i = 0; i < kFiles; ++i) {
        Buffer buffer = writer.take(200000);
        std::fill_n(buffer.bytes.get(), buffer.size, static_cast<std::byte>('a' + t));
        writer.add(folder / ("x/" + std::to_string(t) + "/" + std::to_string(i)), "head", std::move(buffer));
      }
    });
  for (std::thread& one : team) one.join();
  writer.flush();
  EXPECT_EQ(writer.written_files(), static_cast<uint64_t>(kThreads * kFiles));
  EXPECT_EQ(content(folder / "x/2/49"), "head" + std::string(200000, 'c'));
  EXPECT_EQ(writer.take_failures().count, 0u);
}

TEST(DumpWriter, WhoWaitsForMemoryGetsIt) {
  const Folder folder;
  FileWriter writer(1 << 10);
  // Somebody holds all, and nothing is being written that would make room.
  Buffer all = writer.take(1 << 10);
  std::atomic<int> got{0};
  std::vector<std::thread> team;
  for (int t = 0; t < 3; ++t)
    team.emplace_back([&, t] {
      Buffer buffer = writer.take(t == 0 ? 1 << 12 : 100);
      ++got;
      writer.add(folder / std::to_string(t), "head", std::move(buffer));
    });
  writer.give_back(std::move(all));
  for (std::thread& one : team) one.join();
  writer.flush();
  EXPECT_EQ(got, 3);
  EXPECT_EQ(writer.written_files(), 3u);
  EXPECT_EQ(content(folder / "0").size(), 4 + (size_t{1} << 12));
}

TEST(DumpWriter, LargerThanItsMemoryAndBroken) {
  const Folder folder;
  FileWriter writer(1000);
  Buffer buffer = writer.take(5000);  // nobody else has any
  std::fill_n(buffer.bytes.get(), 5000, std::byte{'x'});
  writer.add(folder / "large", "", std::move(buffer));
  writer.flush();
  EXPECT_EQ(content(folder / "large").size(), 5000u);
  std::ofstream(folder / "file") << "in the way";
  writer.add(folder / "file/x", "lost", {});
  writer.add(folder / "good", "kept", {});
  writer.flush();
  const auto failures = writer.take_failures();
  EXPECT_EQ(failures.count, 1u);
  EXPECT_NE(failures.first.find("file/x: Not a directory"), std::string::npos) << failures.first;
  EXPECT_EQ(content(folder / "good"), "kept");
  {
    FileWriter::Direct half(writer, folder / "half");
    half.write("abc", 3);
    half.cancel();
  }
  EXPECT_FALSE(fs::exists(folder / "half"));
}

TEST(DumpWriter, LongNamesAreNumbersThatMappingExplains) {
  const Folder folder;
  FileWriter writer;
  const std::string name(300, 'n');
  writer.add(folder / name, "data", {});
  writer.flush();
  bool is_long = false;
  const std::string number = name_on_disk(name, &is_long);
  EXPECT_TRUE(is_long);
  EXPECT_EQ(number.find_first_not_of("0123456789"), std::string::npos);
  EXPECT_EQ(content(folder / number), "data");
  EXPECT_EQ(content(folder / "mapping.csv"), number + "," + name + "\n");
}

TEST(DumpNames, AreWhatReadersTake) {
  EXPECT_EQ(clean("net/conv.1:0 x"), "net_conv_1_0_x");
  EXPECT_EQ(file_name("Add", "a/b", 7, 3, 1700000000000000), "Add.a_b.7.3.1700000000000000");
  EXPECT_GE(stream_number(-1), 60000u);
  const uint64_t before = next_timestamp();
  EXPECT_GT(next_timestamp(), before);
}

TEST(DumpSettings, Steps) {
  const Steps steps = parse_steps("0|3-5|10", "dump_step");
  for (uint64_t step : {0, 3, 4, 5, 10}) EXPECT_TRUE(steps.contain(step)) << step;
  for (uint64_t step : {1, 2, 6, 9, 11}) EXPECT_FALSE(steps.contain(step)) << step;
  EXPECT_TRUE(Steps().contain(7));
  std::string many = "0";
  for (int i = 1; i <= 100; ++i) many += "|" + std::to_string(i);
  for (const std::string& wrong : {std::string("5-3"), std::string("a"), std::string("-1"), std::string("1-"),
                                   std::string("|"), std::string("1||2"), std::string("99999999999999999999"), many})
    EXPECT_THROW(parse_steps(wrong, "dump_step"), Error) << wrong;
}

TEST(DumpStatistics, OfViewsAndSpecialNumbers) {
  float data[6] = {1, -2, 100, std::numeric_limits<float>::quiet_NaN(), 4, -std::numeric_limits<float>::infinity()};
  TensorView view;
  view.data = data;
  view.dtype = DType::Float;
  view.rank = 1;
  view.dims[0] = 3;
  view.strides[0] = 2;  // 1, 100, 4
  Statistics s = statistics_of(view);
  EXPECT_EQ(s.count, 3);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 100);
  EXPECT_EQ(s.mean, 35);
  EXPECT_TRUE(all_finite(view));
  view.dims[0] = 6;
  view.strides[0] = 1;
  s = statistics_of(view);
  EXPECT_EQ(s.nan, 1);
  EXPECT_EQ(s.negative_infinity, 1);
  EXPECT_EQ(s.max, 100);
  EXPECT_FALSE(all_finite(view));
  EXPECT_EQ(describe(s), "min -2, max 100, mean 25.75, 1 NaN, 1 -Inf");
  view.dims[0] = 0;
  EXPECT_TRUE(std::isnan(statistics_of(view).min));
  EXPECT_EQ(describe(statistics_of(view)), "empty");
  uint16_t halves[2] = {0x7bff, 0x3c00};
  view.data = halves;
  view.dtype = DType::Float16;
  view.dims[0] = 2;
  EXPECT_TRUE(has_largest(view));
  halves[0] = 0x7c00;
  EXPECT_FALSE(has_largest(view));
  EXPECT_FALSE(all_finite(view));
}

// Views of more than a piece: each piece is small, and together they are the elements in their order.
TEST(DumpStatistics, PiecesOfViews) {
  std::vector<int32_t> memory(5 * 1030 * 1100);
  std::iota(memory.begin(), memory.end(), 0);
  const int64_t dims[] = {5, 1030, 1100};
  const TensorView whole = TensorView::contiguous(memory.data(), DType::Int32, dims, 3);
  TensorView part = whole.transpose(0, 2);  // every second row of it, one column less
  part.dims[1] = 515;
  part.strides[1] *= 2;
  part.dims[0] -= 1;
  for (const TensorView& view : {whole.transpose(1, 2), whole.transpose(0, 2), part}) {
    std::vector<int32_t> got;
    copy_pieces(view, [&](const std::byte* piece, size_t size) {
      EXPECT_LE(size, 8u << 20);
      const auto* elements = reinterpret_cast<const int32_t*>(piece);
      got.insert(got.end(), elements, elements + size / 4);
    });
    ASSERT_EQ(static_cast<int64_t>(got.size()), view.numel());
    int64_t wrong = 0;
    for (int64_t i = 0; i < view.numel(); ++i)
      wrong += got[static_cast<size_t>(i)] != view.as<int32_t>()[view.offset_of(i)];
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Opdebug, IsReadAsItWasWritten) {
  TaskEvent task;
  task.id = 77;
  task.stream = 3;
  task.model = 5;
  for (const auto part : {overflow::Part::AiCore, overflow::Part::L2AtomicAdd}) {
    overflow::Finding finding;
    finding.part = part;
    finding.status = part == overflow::Part::AiCore ? 0x420 : 0x10000;
    const std::string file = overflow::opdebug_file(task, finding, 1700000000000000);
    uint64_t data = 0;
    read_header(std::as_bytes(std::span(file)), file.size(), &data);
    const auto info = overflow::read_opdebug(std::as_bytes(std::span(file)).subspan(data));
    EXPECT_EQ(info.task, 77u);
    EXPECT_EQ(info.stream, 3u);
    EXPECT_EQ(info.model, 5u);
    EXPECT_EQ(info.status, finding.status);
    EXPECT_EQ(info.part, part == overflow::Part::AiCore ? "AI Core" : "L2 Atomic Add");
  }
  EXPECT_THROW(overflow::read_opdebug({}), Error);
}

}  // namespace
}  // namespace updraft::dump
