#include "runtime/notices/notice_watch.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/plain_text.hpp"

namespace ukemi::runtime {

NoticeWatch::NoticeWatch(std::vector<std::unique_ptr<NoticeSource>> sources,
                         std::chrono::milliseconds pause)
    : pause_(pause) {
    for (auto& source : sources) sources_.push_back({std::move(source), {}, {}});
    if (!sources_.empty()) thread_ = std::thread([this] { watch(); });
}

NoticeWatch::~NoticeWatch() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    wakes_.notify_all();
    if (thread_.joinable()) thread_.join();
}

std::optional<HostNotice> NoticeWatch::loss() const {
    const std::lock_guard lock(mutex_);
    return loss_;
}

std::vector<std::string> NoticeWatch::take_remarks() {
    const std::lock_guard lock(mutex_);
    return std::exchange(remarks_, {});
}

void NoticeWatch::ask(Watched& one) {
    std::optional<HostNotice> notice;
    std::string says;
    try {
        notice = one.source->ask();
        if (notice && !notice->is_loss) says = notice->text;
    } catch (const std::exception& error) {
        says = "no notices: " + one_line(error.what());
    }
    const std::lock_guard lock(mutex_);
    if (notice && notice->is_loss && !loss_) loss_ = std::move(notice);
    if (says != one.said && !says.empty()) remarks_.push_back(says);
    one.said = std::move(says);
}

void NoticeWatch::watch() {
    for (;;) {
        auto next = std::chrono::steady_clock::now() + pause_;
        for (Watched& one : sources_) {
            const auto now = std::chrono::steady_clock::now();
            if (one.next <= now) {
                ask(one);
                one.next = now + (one.source->is_near() ? std::min(near_pause, pause_) : pause_);
            }
            next = std::min(next, one.next);
        }
        std::unique_lock lock(mutex_);
        if (wakes_.wait_until(lock, next, [this] { return ends_; })) return;
        if (loss_) return;
    }
}

}  // namespace ukemi::runtime
