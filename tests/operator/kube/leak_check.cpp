// Looks for leaks before the process ends, not after: at exit OpenSSL forgets what it keeps for each thread, before the
// threads of cpprestsdk's pool have ended, and it would all be reported as leaked.
#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>

namespace {

class LeakCheck : public testing::Environment {
  void TearDown() override { __lsan_do_leak_check(); }  // ends the process if there are any; the check at exit is off
};
[[maybe_unused]] testing::Environment* const kLeakCheck = testing::AddGlobalTestEnvironment(new LeakCheck);

}  // namespace
#endif
