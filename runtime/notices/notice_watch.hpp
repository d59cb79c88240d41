// notice_watch.hpp — asks all sources of notices again and again, on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/notices/notice_source.hpp"

namespace ukemi::runtime {

class NoticeWatch {
public:
    // As often as the providers recommend.
    static constexpr std::chrono::milliseconds usual_pause{5000};
    static constexpr std::chrono::milliseconds near_pause{200};

    NoticeWatch(std::vector<std::unique_ptr<NoticeSource>> sources,
                std::chrono::milliseconds pause = usual_pause);
    ~NoticeWatch();  // waits for the question that is asked just now
    NoticeWatch(const NoticeWatch&) = delete;
    NoticeWatch& operator=(const NoticeWatch&) = delete;

    // The first loss that was announced: it is not taken back.
    std::optional<HostNotice> loss() const;
    // What else there is to say since the last call, a sentence each: recommendations, and sources
    // that do not answer (again once they have answered in between).
    std::vector<std::string> take_remarks();

private:
    struct Watched {
        std::unique_ptr<NoticeSource> source;
        std::string said;  // last, so that nothing is said twice in a row
        std::chrono::steady_clock::time_point next;
    };
    void watch();
    void ask(Watched& one);

    std::vector<Watched> sources_;
    std::chrono::milliseconds pause_;
    mutable std::mutex mutex_;
    std::condition_variable wakes_;
    bool ends_ = false;
    std::optional<HostNotice> loss_;
    std::vector<std::string> remarks_;
    std::thread thread_;
};

}  // namespace ukemi::runtime
