#include "vision.h"

#include <fstream>
#include <iterator>

namespace {

constexpr uint32_t up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

void set(acldvppPicDesc* desc, const Block& memory) {
  CHECK(acldvppSetPicDescData(desc, memory.data()));
  CHECK(acldvppSetPicDescSize(desc, static_cast<uint32_t>(memory.bytes())));
  CHECK(acldvppSetPicDescFormat(desc, PIXEL_FORMAT_YUV_SEMIPLANAR_420));
}

std::vector<char> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": no such file");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A dataset that goes with its scope; the memory behind it stays.
struct Dataset {
  aclmdlDataset* handle = aclmdlCreateDataset();
  ~Dataset() {
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(handle); ++i)
      aclDestroyDataBuffer(aclmdlGetDatasetBuffer(handle, i));
    aclmdlDestroyDataset(handle);
  }
  void add(const Block& block, size_t bytes) const {
    CHECK(aclmdlAddDatasetBuffer(handle, aclCreateDataBuffer(block.data(), bytes)));
  }
};

}  // namespace

void check(aclError code, const char* call) {
  if (code == ACL_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  throw std::runtime_error(std::string(call) + " failed with " + std::to_string(code) + "\n" + (text ? text : ""));
}

Runtime::Runtime() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&stream_));
}
Runtime::~Runtime() {
  aclrtDestroyStream(stream_);
  aclrtResetDevice(0);
  aclFinalize();
}

Block& Block::operator=(Block&& from) noexcept {
  std::swap(data_, from.data_);
  std::swap(bytes_, from.bytes_);
  return *this;
}
Block::~Block() {
  if (data_) acldvppFree(data_);
}
void Block::copy_from(const void* host, size_t bytes) const {
  CHECK(aclrtMemcpy(data_, bytes_, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
}
void Block::copy_to(void* host, size_t bytes) const {
  CHECK(aclrtMemcpy(host, bytes, data_, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
}

Picture::Picture(size_t bytes) : memory_(bytes), desc_(acldvppCreatePicDesc()) { set(desc_, memory_); }
Picture::Picture(uint32_t width, uint32_t height)
    : memory_(size_t{up(width, 16)} * up(height, 2) * 3 / 2), desc_(acldvppCreatePicDesc()) {
  set(desc_, memory_);
  CHECK(acldvppSetPicDescWidth(desc_, width));
  CHECK(acldvppSetPicDescHeight(desc_, height));
  CHECK(acldvppSetPicDescWidthStride(desc_, up(width, 16)));
  CHECK(acldvppSetPicDescHeightStride(desc_, up(height, 2)));
}
Picture::~Picture() {
  if (desc_) acldvppDestroyPicDesc(desc_);
}

Dvpp::Dvpp(const Runtime& runtime)
    : runtime_(runtime),
      channel_(acldvppCreateChannelDesc()),
      resizing_(acldvppCreateResizeConfig()),
      encoding_(acldvppCreateJpegeConfig()) {
  CHECK(acldvppCreateChannel(channel_));
  CHECK(acldvppSetJpegeConfigLevel(encoding_, 95));
}
Dvpp::~Dvpp() {
  acldvppDestroyJpegeConfig(encoding_);
  acldvppDestroyResizeConfig(resizing_);
  acldvppDestroyChannel(channel_);
  acldvppDestroyChannelDesc(channel_);
}

Picture Dvpp::decode(const std::string& path) const {
  const std::vector<char> file = read(path);
  const auto bytes = static_cast<uint32_t>(file.size());
  uint32_t room = 0;
  CHECK(acldvppJpegPredictDecSize(file.data(), bytes, PIXEL_FORMAT_YUV_SEMIPLANAR_420, &room));
  const Block data(bytes);
  data.copy_from(file.data(), bytes);
  Picture made(room);
  CHECK(acldvppJpegDecodeAsync(channel_, data.data(), bytes, made.desc(), runtime_.stream()));
  runtime_.wait();
  return made;
}

void Dvpp::resize(const Picture& from, const Picture& to) const {
  CHECK(acldvppVpcResizeAsync(channel_, from.desc(), to.desc(), resizing_, runtime_.stream()));
  runtime_.wait();
}

void Dvpp::encode(const Picture& from, const std::string& path) const {
  uint32_t bytes = 0;
  CHECK(acldvppJpegPredictEncSize(from.desc(), encoding_, &bytes));
  const Block to(bytes);
  CHECK(acldvppJpegEncodeAsync(channel_, from.desc(), to.data(), &bytes, encoding_, runtime_.stream()));
  runtime_.wait();  // `bytes` is the file's size from here on
  std::vector<char> file(bytes);
  to.copy_to(file.data(), bytes);
  if (!std::ofstream(path, std::ios::binary).write(file.data(), static_cast<std::streamsize>(bytes)))
    throw std::runtime_error(path + " cannot be written");
}

Model::Model(const std::string& path) : desc_(aclmdlCreateDesc()) {
  CHECK(aclmdlLoadFromFile(path.c_str(), &id_));
  CHECK(aclmdlGetDesc(desc_, id_));
  aclmdlIODims dims;
  CHECK(aclmdlGetInputDims(desc_, 0, &dims));
  width_ = static_cast<uint32_t>(dims.dims[2]);
  height_ = static_cast<uint32_t>(dims.dims[1] * 2 / 3);  // lines of Y, and half as many of UV
  if (aclmdlGetInputSizeByIndex(desc_, 0) != Picture(width_, height_).memory().bytes())
    throw std::runtime_error(path + ": want one picture of YUV420SP_U8 (AIPP) whose width is a multiple of 16");
  for (size_t i = 0; i < aclmdlGetNumOutputs(desc_); ++i) {
    if (aclmdlGetOutputDataType(desc_, i) != ACL_FLOAT) throw std::runtime_error(path + ": want outputs of float32");
    outputs_.emplace_back(aclmdlGetOutputSizeByIndex(desc_, i));
  }
}
Model::~Model() {
  aclmdlUnload(id_);
  aclmdlDestroyDesc(desc_);
}

std::vector<int64_t> Model::shape(size_t output) const {
  aclmdlIODims dims;
  CHECK(aclmdlGetOutputDims(desc_, output, &dims));
  return {dims.dims, dims.dims + dims.dimCount};
}

std::vector<std::vector<float>> Model::run(const Picture& picture) const {
  const Dataset input, output;
  input.add(picture.memory(), picture.memory().bytes());
  for (const Block& block : outputs_) output.add(block, block.bytes());
  CHECK(aclmdlExecute(id_, input.handle, output.handle));
  std::vector<std::vector<float>> all;
  for (const Block& block : outputs_) {
    all.emplace_back(block.bytes() / sizeof(float));
    block.copy_to(all.back().data(), block.bytes());
  }
  return all;
}
