// sigterm_notices.cpp — SIGTERM as the notice that a scheduler gives before it ends the process:
// Kubernetes and Slurm say so, and kill what is still there some seconds later.
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <ctime>
#include <stdexcept>

#include "base/plain_text.hpp"
#include "runtime/notices/metadata_service.hpp"

namespace ukemi::runtime {

namespace {

constexpr int grace_max_s = 86'400;

std::atomic<std::int64_t> told_at_s{0};

void note_told(int) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    std::int64_t none = 0;
    told_at_s.compare_exchange_strong(none, now.tv_sec);
}

class SigtermNotices final : public NoticeSource {
public:
    explicit SigtermNotices(std::string_view seconds) {
        const char* const end = seconds.data() + seconds.size();
        const auto [last, error] = std::from_chars(seconds.data(), end, grace_s_);
        if (error != std::errc() || last != end || grace_s_ < 1 || grace_s_ > grace_max_s) {
            throw std::invalid_argument(std::string(seconds));
        }
    }

    std::optional<HostNotice> ask() override {
        // Not before it is asked: until then the signal is what it was.
        if (!listens_) std::signal(SIGTERM, note_told);
        listens_ = true;
        const std::int64_t told_s = told_at_s;
        if (told_s == 0) return std::nullopt;
        return HostNotice{fmt::format("SIGTERM says that this machine goes in {} s", grace_s_),
                          WorldTime(std::chrono::seconds(told_s + grace_s_)), true};
    }
    bool is_near() const override { return true; }

private:
    int grace_s_ = 0;
    bool listens_ = false;
};

}  // namespace

std::unique_ptr<NoticeSource> make_sigterm_notices(std::string_view place) {
    return std::make_unique<SigtermNotices>(place);
}

}  // namespace ukemi::runtime
