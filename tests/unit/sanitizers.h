// UPDRAFT_SANITIZED: the build has a sanitizer that wants memory and descriptors of its own, or replaces operator new.
#pragma once
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UPDRAFT_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UPDRAFT_SANITIZED
#endif
#endif
