// skewed_clock.cpp — loaded before the C library (LD_PRELOAD): the time of day of a host whose
// clock is wrong by UKEMI_TEST_SKEW_S seconds. Clocks that measure are left alone.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

time_t skew_s() {
    const char* const text = std::getenv("UKEMI_TEST_SKEW_S");
    return text == nullptr ? 0 : static_cast<time_t>(std::strtol(text, nullptr, 10));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const long result = ::syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += skew_s();
    return static_cast<int>(result);
}

int gettimeofday(timeval* time, void*) noexcept {
    timespec now{};
    const int result = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t* out) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != nullptr) *out = now.tv_sec;
    return now.tv_sec;
}
}
