#include "runtime/job_share.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>

namespace ukemi::runtime {

void ShareNews::tell() {
    {
        const std::lock_guard lock(mutex);
        ++told_;
    }
    changed_.notify_all();
}

std::uint64_t ShareNews::told() {
    const std::lock_guard lock(mutex);
    return told_;
}

void ShareNews::wait(std::uint64_t since, std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex);
    changed_.wait_until(lock, until, [&] { return told_ != since; });
}

JobShare::JobShare(ShareNews& news) : news_(news), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wake_.get() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void JobShare::order(const ShareOrder& order) {
    {
        const std::lock_guard lock(news_.mutex);
        if (order_ == order) return;
        order_ = order;
    }
    // Full only if it was woken for the last 2^64 times.
    ::eventfd_write(wake_.get(), 1);
}

ShareReport JobShare::last_report() const {
    const std::lock_guard lock(news_.mutex);
    return report_;
}

ShareOrder JobShare::ordered() {
    eventfd_t woken = 0;
    ::eventfd_read(wake_.get(), &woken);
    const std::lock_guard lock(news_.mutex);
    return order_;
}

void JobShare::report(const ShareReport& report) {
    {
        const std::lock_guard lock(news_.mutex);
        if (report_ == report) return;
        report_ = report;
    }
    news_.tell();
}

bool JobShare::wait_for_places(std::int64_t samples, const std::atomic<int>& stop) {
    for (;;) {
        const ShareOrder order = ordered();
        if (stop.load() > 0) return false;
        if (order.places > 0) return true;
        report({order, 0, 0, samples, true});
        pollfd woken{wake(), POLLIN, 0};
        ::poll(&woken, 1, 100);  // ms: `stop` wakes nobody
    }
}

}  // namespace ukemi::runtime
