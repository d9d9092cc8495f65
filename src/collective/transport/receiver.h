// One peer's incoming messages, matched with the receives that are posted for them: in order within a tag.
#pragma once
#include <deque>
#include <memory>
#include <unordered_map>

#include "collective/transport/outbox.h"

namespace updraft::collective {

class Receiver final : public FrameSink {
 public:
  Outbox outbox;  ///< answers

  /// Throws PeerFailure when the message that has arrived is of another size; the receive is then kept for fail().
  void receive(uint64_t tag, void* data, size_t bytes, Completion done);
  /// Serves a receive from what had arrived before the peer left; false when there is nothing.
  bool take_arrived(uint64_t tag, void* data, size_t bytes, Completion& done);
  void fail(const Error& error, const Error* tell, bool keep_arrived);

  Body begin(const FrameHeader& header) override;
  void end() override;
  /// Messages that have begun and are not there as a whole.
  size_t unfinished() const { return active_.size(); }
  /// True when nothing but signs of life has come.
  bool untouched() const { return announced_ == 0 && used_ == 0 && freed_ == 0; }

 private:
  struct Posted {
    char* data;
    size_t bytes;
    Completion done;
  };
  struct Arrived {
    size_t bytes;
    bool whole;  ///< else announced
    std::unique_ptr<char[]> payload;
    uint64_t number;
  };
  struct Active {
    Posted to;
    size_t have;
  };
  struct Tag {
    std::deque<Posted> posted;
    std::deque<Arrived> arrived;  ///< never both
  };
  bool take_posted(uint64_t tag, Posted& posted);
  /// Throws where the sizes differ; the receive is then kept for fail().
  void check_size(Posted& posted, size_t bytes, uint64_t tag);
  void accept(uint64_t number, Posted posted);
  void free_window(size_t bytes);

  std::unordered_map<uint64_t, Tag> tags_;
  std::unordered_map<uint64_t, Active> active_;  ///< announced and wanted
  std::deque<Posted> mismatched_;
  uint64_t announced_ = 0;
  size_t waiting_ = 0;  ///< announced and not wanted yet
  size_t used_ = 0, freed_ = 0;
  // The frame that is being received.
  FrameHeader header_{};
  Posted eager_{};  ///< its receive, if that is posted
  bool direct_ = false;
  std::unique_ptr<char[]> payload_;
  char text_[kTextBytes];
};

}  // namespace updraft::collective
