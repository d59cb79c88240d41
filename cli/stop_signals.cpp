#include "cli/stop_signals.hpp"

#include <csignal>

namespace ukemi::cli {

namespace {

std::atomic<int> stop_requests{0};
std::atomic<int> first_signal{0};

void note_first(int signal) {
    int none = 0;
    first_signal.compare_exchange_strong(none, signal);
}

// An impatient user says it again; a terminal that goes away may send several signals at once.
void note_interrupt(int signal) {
    note_first(signal);
    ++stop_requests;
}
void note_end(int signal) {
    note_first(signal);
    int none = 0;
    stop_requests.compare_exchange_strong(none, 1);
}
void note_once(int signal) {
    note_interrupt(signal);
    std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<int>& watch_stop_signals(SecondSignal second) {
    const bool once = second == SecondSignal::kills;
    std::signal(SIGINT, once ? note_once : note_interrupt);
    std::signal(SIGTERM, once ? note_once : note_end);
    if (std::signal(SIGHUP, note_end) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // nohup
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    return stop_requests;
}

int stopped_exit_code() { return 128 + first_signal; }

}  // namespace ukemi::cli
