// A message of another size than its receive: both ends fail, and the receive hears of it once, whichever came first.
#include "collective/transport/receiver.h"

#include <gtest/gtest.h>

#include <functional>

#include "collective/error.h"

namespace updraft::collective {
namespace {

constexpr uint64_t kTag = 7, kSent = 4;

struct ReceiverTest : testing::Test {
  Receiver receiver;
  char place[8];
  int succeeded = 0, failed = 0;

  void receive(size_t bytes = sizeof place) {
    receiver.receive(kTag, place, bytes, [this](const Error* error) { ++(error ? failed : succeeded); });
  }
  void announce() { receiver.begin({Frame::Announce, 0, kTag, kSent}); }
  void eager() { receiver.begin({Frame::Eager, kSent, kTag, 0}); }

  void expect_mismatch(const std::function<void()>& last) {
    try {
      last();
      ADD_FAILURE() << "no failure";
    } catch (const PeerFailure& failure) {
      EXPECT_EQ(failure.error.code(), result::kPara);
      EXPECT_TRUE(failure.tell);
      EXPECT_EQ(succeeded + failed, 0);
      receiver.fail(failure.error, nullptr, false);
    }
    EXPECT_EQ(succeeded, 0);
    EXPECT_EQ(failed, 1);
  }
};

TEST_F(ReceiverTest, ReceiveAfterTheAnnouncement) {
  announce();
  expect_mismatch([this] { receive(); });
}

TEST_F(ReceiverTest, AnnouncementAfterTheReceive) {
  receive();
  expect_mismatch([this] { announce(); });
}

TEST_F(ReceiverTest, ReceiveAfterTheMessage) {
  eager();
  receiver.end();
  expect_mismatch([this] { receive(); });
}

TEST_F(ReceiverTest, ReceiveWhileTheMessageComes) {
  eager();
  receive();
  expect_mismatch([this] { receiver.end(); });
}

TEST_F(ReceiverTest, MessageAfterTheReceive) {
  receive();
  expect_mismatch([this] { eager(); });
}

TEST_F(ReceiverTest, TheSameSizeSucceeds) {
  receive(kSent);
  eager();
  receiver.end();
  EXPECT_EQ(succeeded, 1);
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace updraft::collective
