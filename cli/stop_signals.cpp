#include "cli/stop_signals.hpp"

#include <csignal>
#include <cstdint>
#include <ctime>

#include "analysis/output_folder.hpp"

namespace ukemi::cli {

namespace {

std::atomic<int> stop_requests{0};
std::atomic<int> first_signal{0};
std::atomic<std::int64_t> last_signal_ms{0};

void end_by(int signal) {
    analysis::remove_held_locks();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void note_first(int signal) {
    int none = 0;
    first_signal.compare_exchange_strong(none, signal);
}

// What runs us may send one to the process and one to its group, a terminal that goes away several
// at once: those together are one request. An impatient user says it again later.
bool is_new_request() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t now_ms = now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
    const std::int64_t before_ms = last_signal_ms.exchange(now_ms);
    return stop_requests == 0 || now_ms - before_ms > 500;
}

void note_interrupt(int signal) {
    note_first(signal);
    if (is_new_request()) ++stop_requests;
}
void note_end(int signal) {
    note_first(signal);
    int none = 0;
    stop_requests.compare_exchange_strong(none, 1);
}
void note_until_repeated(int signal) {
    note_first(signal);
    if (!is_new_request()) return;
    if (++stop_requests == 1) return;
    end_by(signal);
}

}  // namespace

const std::atomic<int>& watch_stop_signals(SecondSignal second) {
    const bool kills = second == SecondSignal::kills;
    std::signal(SIGINT, kills ? note_until_repeated : note_interrupt);
    std::signal(SIGTERM, kills ? note_until_repeated : note_end);
    if (std::signal(SIGHUP, note_end) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // nohup
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    return stop_requests;
}

void remove_locks_when_killed() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        // nohup, and shells for what runs in the background, have them ignored.
        if (std::signal(signal, end_by) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
}

int stopped_exit_code() { return 128 + first_signal; }

}  // namespace ukemi::cli
