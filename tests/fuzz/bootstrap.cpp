// The rendezvous: bytes of a stranger, and frames of a member or a root that has the key and keeps to no rule.
#include <future>
#include <vector>

#include "../unit/collective/raw_member.h"
#include "collective/bootstrap/member.h"
#include "collective/bootstrap/root.h"
#include "input.h"

using namespace updraft;
using namespace updraft::collective;

namespace {

using Clock = EventLoop::Clock;
const std::string key(32, 'k');

std::shared_ptr<Root> open_root(uint32_t ranks) {
  RootOptions options;
  options.ip = "127.0.0.1";
  options.key = key;
  options.ranks = ranks;
  options.timeout = 20;
  return Root::open(options);
}

std::shared_ptr<Member> join(uint16_t port, uint32_t rank, uint32_t ranks) {
  return Member::join("127.0.0.1", port, key, rank, ranks, Clock::now() + std::chrono::seconds(20));
}

void frames(RawMember& peer, fuzz::Input& in) {
  while (!in.empty()) {
    const int kind = in.below(16);
    if (kind == 15) {
      if (!peer.write(in.text(40))) return;
      continue;
    }
    Writer payload;
    for (int n = in.below(4); n > 0; --n) {
      if (in.one_in(2)) payload.u32(static_cast<uint32_t>(in.odd_number()));
      else payload.sized(in.text(in.below(40)));
    }
    std::string text = payload.text() + in.text(in.below(20));
    if (in.one_in(30)) text.resize(70000);
    std::string frame = RawMember::frame_of(static_cast<uint8_t>(kind), text);
    if (in.one_in(15)) {
      const auto length = static_cast<uint32_t>(in.odd_number());
      std::memcpy(frame.data(), &length, 4);
    }
    if (!peer.write(frame)) return;
  }
}

/// Whatever comes of it, it comes in time and is an error of the rendezvous.
void ends(const std::function<void()>& call) {
  const auto start = Clock::now();
  try {
    call();
  } catch (const Error& e) {
    if (e.code() < 1 || e.code() > 24) fuzz::wrong("an odd code", e.code());
  }
  if (Clock::now() - start > std::chrono::seconds(15)) fuzz::wrong("somebody waits for nothing", 0);
}

/// An honest member among broken ones: everything that it does ends.
void use(Member& member) {
  Member::Events events;
  events.gone = [](uint32_t, bool) {};
  events.fault = [](uint32_t, const Error&) {};
  events.root_lost = [](const std::string&) {};
  const auto soon = Clock::now() - std::chrono::seconds(2) + std::chrono::milliseconds(20);
  member.put("a", "value");
  ends([&] { member.exchange("blob", soon); });
  member.watch(events);
  ends([&] { member.get("b", 1, soon); });
  ends([&] { member.check(); });
  member.report(Error(9, "a reason"));
  member.leave();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::environment();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in(data, size);
  const int mode = in.below(4);
  if (mode == 0) {  // strangers, and then one who knows
    static std::shared_ptr<Root> root = open_root(1000);
    RawMember stranger(root->port());
    if (in.one_in(2)) stranger.hello(std::string(32, 'x'), in.byte(), in.byte());
    else stranger.write(in.text(size));
  } else if (mode == 1) {  // a broken member, and an honest one
    const auto root = open_root(in.one_in(2) ? 0 : 2);
    RawMember broken(root->port());
    const bool first = in.one_in(2);
    if (first && !broken.join(key, 1, 2)) fuzz::wrong("no welcome", 1);
    std::shared_ptr<Member> member;
    ends([&] { member = join(root->port(), 0, 2); });
    if (!member) fuzz::wrong("no place for an honest member", 0);
    if (!first && !broken.join(key, 1, 2)) fuzz::wrong("no welcome", 2);
    frames(broken, in);
    if (in.one_in(2)) broken.close();
    use(*member);
    root->close();
  } else {  // a broken root
    RawRoot server;
    std::shared_ptr<Member> member;
    auto joining = std::async(std::launch::async, [&] { ends([&] { member = join(server.port(), 0, 3); }); });
    RawMember broken(server.accept());
    server.close();
    if (mode == 2) {
      if (!broken.welcome(key)) fuzz::wrong("no hello", 0);
      frames(broken, in);
      joining.get();
      if (in.one_in(2)) broken.close();
      if (member) use(*member);
    } else {
      frames(broken, in);
      broken.close();
      joining.get();
    }
  }
  return 0;
}
