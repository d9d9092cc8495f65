// The mark of a function that a client may call and that has nothing to do here. It stands right above the definition:
//
//   ACCEPTED(aclrtMemFlush, "host and device see one memory", "主机与设备共用内存")
//   ACL_API aclrtMemFlush(void*, size_t) { return 0; }
//
// The reason ends the sentence "it is accepted, and nothing happens, because …". abi/support.py reads the marks out of
// the library and lists the functions apart from those that are implemented; tests/abi/test_accepted.py finds functions
// that only return 0 and have no mark.
#pragma once

#define ACCEPTED(NAME, REASON, REASON_ZH)                                                                   \
  [[gnu::used, gnu::section("updraft_accepted"), gnu::aligned(1)]] static const char NAME##_is_accepted[] = \
      #NAME "\t" REASON "\t" REASON_ZH;
