// What both programs need: a device, pictures that DVPP decodes, resizes and encodes, and a model that reads them.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "acl/ops/acl_dvpp.h"

/// Throws with what the device says where a call has failed.
void check(aclError code, const char* call);
#define CHECK(call) check((call), #call)

/// A device with a stream, as long as it lives.
class Runtime {
 public:
  Runtime();
  ~Runtime();
  Runtime(const Runtime&) = delete;
  aclrtStream stream() const { return stream_; }
  void wait() const { CHECK(aclrtSynchronizeStream(stream_)); }

 private:
  aclrtStream stream_ = nullptr;
};

/// Memory of the device that DVPP reads and writes.
class Block {
 public:
  Block() = default;
  explicit Block(size_t bytes) : bytes_(bytes) { CHECK(acldvppMalloc(&data_, bytes)); }
  Block(Block&& from) noexcept { *this = std::move(from); }
  Block& operator=(Block&& from) noexcept;
  ~Block();
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  void copy_from(const void* host, size_t bytes) const;
  void copy_to(void* host, size_t bytes) const;

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// A picture as a plane of Y and one of pairs UV at half the size (NV12).
class Picture {
 public:
  /// Room for a decoder, which says sizes and strides; or of a size, with the least strides.
  explicit Picture(size_t bytes);
  Picture(uint32_t width, uint32_t height);
  Picture(Picture&& from) noexcept : memory_(std::move(from.memory_)), desc_(from.desc_) { from.desc_ = nullptr; }
  Picture& operator=(Picture&&) = delete;
  ~Picture();
  acldvppPicDesc* desc() const { return desc_; }
  const Block& memory() const { return memory_; }
  uint32_t width() const { return acldvppGetPicDescWidth(desc_); }
  uint32_t height() const { return acldvppGetPicDescHeight(desc_); }
  uint32_t width_stride() const { return acldvppGetPicDescWidthStride(desc_); }
  uint32_t height_stride() const { return acldvppGetPicDescHeightStride(desc_); }

 private:
  Block memory_;
  acldvppPicDesc* desc_;
};

/// The part of a device for pictures.
class Dvpp {
 public:
  explicit Dvpp(const Runtime& runtime);
  ~Dvpp();
  Dvpp(const Dvpp&) = delete;
  Picture decode(const std::string& path) const;
  void resize(const Picture& from, const Picture& to) const;
  void encode(const Picture& from, const std::string& path) const;

 private:
  const Runtime& runtime_;
  acldvppChannelDesc* channel_;
  acldvppResizeConfig* resizing_;
  acldvppJpegeConfig* encoding_;
};

/// An offline model whose input is a picture (YUV420SP_U8 by AIPP) and whose outputs are float32.
class Model {
 public:
  explicit Model(const std::string& path);
  ~Model();
  Model(const Model&) = delete;
  uint32_t width() const { return width_; }
  uint32_t height() const { return height_; }
  std::vector<int64_t> shape(size_t output) const;
  /// All outputs.
  std::vector<std::vector<float>> run(const Picture& picture) const;

 private:
  uint32_t id_ = 0, width_ = 0, height_ = 0;
  aclmdlDesc* desc_;
  std::vector<Block> outputs_;
};
