// Events that several processes record and wait for (aclrtIpcGetEventHandle): counters in a page that they share.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace updraft {

class Stream;

class SharedEvent : public std::enable_shared_from_this<SharedEvent> {
 public:
  /// What names the event to other processes of this user; as large as aclrtIpcEventHandle.
  using Handle = std::array<std::byte, 64>;

  /// A new one, never recorded. Throws 207001 when there is no memory for it.
  static std::shared_ptr<SharedEvent> create();
  /// The one of another process, or of this one. Throws 107000 when the handle names none (any more).
  static std::shared_ptr<SharedEvent> open(const Handle& handle);
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;
  /// Good as long as the process that made the event has it.
  Handle handle() const;

  /// As Event's functions of these names, across processes. Who waits for another process looks at the page every 20 us
  /// to 1 ms. The recording stream's failure is not told to the others.
  void record(Stream& stream);
  void wait(Stream& stream, std::chrono::nanoseconds limit);
  void reset(Stream& stream);
  bool query() const;
  void synchronize(int32_t timeout_ms) const;

  // --- tasks ---
  void complete(uint64_t generation);

 private:
  /// Records are counted apart, because one may be done before an earlier one on another stream. A place is used again
  /// so many records later.
  static constexpr size_t kPlaces = 500;
  struct Page {
    uint64_t magic;
    std::atomic<uint64_t> recorded;         ///< generations put on streams
    std::atomic<uint64_t> places[kPlaces];  ///< at generation % kPlaces: the latest of these that is done
    std::atomic<uint64_t>& done(uint64_t generation) { return places[generation % kPlaces]; }
  };
  static constexpr size_t kBytes = 4096;
  static_assert(sizeof(Page) <= kBytes);
  SharedEvent(int file, Page* page) : file_(file), page_(page) {}
  static std::shared_ptr<SharedEvent> map(int file);
  static constexpr uint64_t kMagic = 0x32746e6576457055;

  const int file_;
  Page* const page_;
};

}  // namespace updraft
