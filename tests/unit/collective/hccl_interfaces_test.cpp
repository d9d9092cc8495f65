#include <gtest/gtest.h>
#include <sys/socket.h>

#include "collective/error.h"
#include "collective/topology/environment.h"
#include "variables.h"

namespace updraft::collective {
namespace {

const std::vector<Interface> kHost = {
    {"docker0", "172.17.0.1", AF_INET, true}, {"endvnic", "10.3.0.1", AF_INET, true},
    {"eth0", "10.1.0.1", AF_INET, true},      {"eth0", "fd00::1", AF_INET6, true},
    {"eth1", "10.2.0.1", AF_INET, true},      {"eth2", "10.4.0.1", AF_INET, false},
    {"lo", "127.0.0.1", AF_INET, true},       {"lo", "::1", AF_INET6, true},
    {"v6only", "fd00::9", AF_INET6, true},
};

std::string chosen(const std::string& ifname, int family = 0, const std::vector<Interface>& all = kHost) {
  Environment e;
  e.socket_ifname = ifname;
  e.socket_family = family;
  const Interface i = choose_interface(e, all);
  return i.name + " " + i.ip;
}

std::vector<Interface> only(const std::string& names) {
  std::vector<Interface> left;
  for (const Interface& i : kHost)
    if (names.find(i.name) != std::string::npos) left.push_back(i);
  return left;
}

TEST(ChooseInterface, WithoutVariablesTheKindAndTheNameDecide) {
  EXPECT_EQ(chosen(""), "endvnic 10.3.0.1");  // by name
  EXPECT_EQ(chosen("", 0, only("lo docker0 eth1")), "eth1 10.2.0.1");
  EXPECT_EQ(chosen("", 0, only("lo docker0 eth2")), "docker0 172.17.0.1");  // eth2 is down
  EXPECT_EQ(chosen("", 0, only("lo")), "lo 127.0.0.1");
  EXPECT_EQ(chosen("", 0, only("lo v6only")), "v6only fd00::9");
  EXPECT_EQ(chosen("", AF_INET6), "eth0 fd00::1");
  EXPECT_EQ(chosen("", AF_INET6, only("lo docker0 eth1")), "lo ::1");
}

TEST(ChooseInterface, FormsOfSocketIfname) {
  EXPECT_EQ(chosen("eth"), "eth0 10.1.0.1");
  EXPECT_EQ(chosen("eth1,endvnic"), "eth1 10.2.0.1");  // the first of the names
  EXPECT_EQ(chosen("enp,docker"), "docker0 172.17.0.1");
  EXPECT_EQ(chosen("=eth0,endvnic"), "eth0 10.1.0.1");
  EXPECT_EQ(chosen("=enp0,=eth1"), "eth1 10.2.0.1");
  EXPECT_EQ(chosen("=eth*"), "eth0 10.1.0.1");
  EXPECT_EQ(chosen("^eth,end"), "v6only fd00::9");
  EXPECT_EQ(chosen("^eth,end,v6"), "docker0 172.17.0.1");
  EXPECT_EQ(chosen("^=endvnic"), "eth0 10.1.0.1");
  EXPECT_EQ(chosen("^=eth"), "endvnic 10.3.0.1");  // no interface has this whole name
  EXPECT_EQ(chosen("eth", AF_INET6), "eth0 fd00::1");
  EXPECT_EQ(chosen("lo"), "lo 127.0.0.1");
}

TEST(ChooseInterface, RefusesWhatDoesNotExist) {
  for (const char* none : {"enp", "=eth", "eth2", "^e,d,l,v"})
    expect_error(result::kPara, {"EI0001: HCCL_SOCKET_IFNAME", none, "eth0 10.1.0.1", "eth2 10.4.0.1 (down)"},
                 [&] { chosen(none); });
  expect_error(result::kPara, {"EI0001: HCCL_SOCKET_FAMILY", "AF_INET6", "=eth1"}, [] { chosen("=eth1", AF_INET6); });
  expect_error(result::kPara, {"EI0001: HCCL_SOCKET_FAMILY"}, [] { chosen("", AF_INET6, only("eth1")); });
  expect_error(result::kNotFound, {"EI0001", "no network interface", "none"}, [] { chosen("", 0, {}); });
}

TEST(ChooseInterface, AddressWins) {
  Environment e;
  e.if_ip = "10.2.0.1";
  e.socket_ifname = "=eth0";
  e.socket_family = AF_INET6;
  EXPECT_EQ(choose_interface(e, kHost).name, "eth1");
  e.if_ip = "10.4.0.1";
  expect_error(result::kPara, {"EI0001: HCCL_IF_IP", "up", "eth2"}, [&] { choose_interface(e, kHost); });
  e.if_ip = "10.9.0.1";
  expect_error(result::kPara, {"EI0001: HCCL_IF_IP", "10.9.0.1", "eth0 10.1.0.1"}, [&] { choose_interface(e, kHost); });
}

TEST(Interfaces, ThisHostHasLoAndOneIsChosen) {
  const std::vector<Interface> all = interfaces();
  bool lo = false;
  for (const Interface& i : all) {
    EXPECT_FALSE(i.ip.empty());
    EXPECT_EQ(i.ip.find('%'), std::string::npos) << i.ip;
    lo = lo || (i.name == "lo" && i.ip == "127.0.0.1" && i.up);
  }
  EXPECT_TRUE(lo);
  EXPECT_FALSE(choose_interface(Environment(), all).ip.empty());
}

}  // namespace
}  // namespace updraft::collective
