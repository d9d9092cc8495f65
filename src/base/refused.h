// The mark of a function that checks its arguments and then says why it does nothing here. It stands right above the
// definition:
//
//   REFUSED(aclmdlLoadFromFileWithQ)
//   ACL_API aclmdlLoadFromFileWithQ(…) { …; throw Error(code::kAclApiNotSupport, …); }
//
// abi/support.py reads the marks out of the library and lists the functions with those that are not implemented.
#pragma once

#define REFUSED(NAME) \
  [[gnu::used, gnu::section("updraft_refused"), gnu::aligned(1)]] static const char NAME##_is_refused[] = #NAME;
