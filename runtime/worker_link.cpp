// worker_link.cpp — the control thread's loop, and the mailbox.
#include "runtime/worker_link.hpp"

#include <dirent.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

namespace ukemi::runtime {
namespace {

using namespace std::chrono_literals;

constexpr auto welcome_time = 30s;
constexpr auto rejoin_pause = 100ms;
constexpr auto doubt_after = 2s;  // the coordinator pings every second
constexpr auto rejoin_answer_time = 2s;
constexpr auto rejoin_connect_time = 2s;
// At the end, for the last words to leave; the coordinator has its own deadline.
constexpr auto flush_time = 1s;
constexpr int heartbeats_per_deadline = 5;
constexpr std::size_t unsent_bytes_max = std::size_t{1} << 20;
constexpr std::uint64_t no_attempt = std::numeric_limits<std::uint64_t>::max();

// What a broken network card would do; shut down and not closed, because other threads still hold
// the numbers.
void shut_all_sockets() {
    DIR* const folder = ::opendir("/proc/self/fd");
    if (folder == nullptr) return;
    while (const dirent* entry = ::readdir(folder)) {
        int descriptor = -1;
        const char* const end = entry->d_name + std::strlen(entry->d_name);
        if (std::from_chars(entry->d_name, end, descriptor).ptr != end) continue;
        ::shutdown(descriptor, SHUT_RDWR);  // refused for what is no socket
    }
    ::closedir(folder);
}

void let_writes_fail() {
    ::signal(SIGXFSZ, SIG_IGN);  // then write() says EFBIG
    const rlimit nothing{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &nothing);
}

// The kernel's signal at the limit ends the process in the middle of a file.
void let_writes_kill() {
    ::signal(SIGXFSZ, SIG_DFL);
    const rlimit little{64, 64};
    ::setrlimit(RLIMIT_FSIZE, &little);
}

}  // namespace

WorkerLink::WorkerLink(Invitation invitation)
    : invitation_(std::move(invitation)),
      connection_(accept_invitation(invitation_)),
      local_host_(SocketAddress::of_socket(connection_.descriptor()).host()),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      heard_(Clock::now()) {
    if (!wake_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

// Waits for the socket, or to be woken; reads and writes what can be. False: it is over.
bool WorkerLink::exchange_bytes(Moment until) {
    short events = POLLIN;
    {
        const std::lock_guard lock(connection_mutex_);
        if (connection_.wants_to_write()) events = POLLIN | POLLOUT;
    }
    std::array<pollfd, 2> descriptors{pollfd{connection_.descriptor(), events, 0},
                                      pollfd{wake_.get(), POLLIN, 0}};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    ::poll(descriptors.data(), descriptors.size(),
           static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 1000)));
    std::uint64_t woken = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &woken, sizeof woken);
    std::vector<Message> messages;
    std::optional<std::string> problem;
    {
        const std::lock_guard lock(connection_mutex_);
        problem = connection_.receive(messages);
        if (!problem) problem = connection_.flush();
    }
    if (!messages.empty()) heard_ = Clock::now();
    for (Message& message : messages) obey(std::move(message));
    return !problem.has_value();
}

std::optional<Welcome> WorkerLink::await_welcome() {
    const Moment end = Clock::now() + welcome_time;
    while (Clock::now() < end && exchange_bytes(end)) {
        const std::lock_guard lock(orders_mutex_);
        if (orders_.empty()) continue;
        const auto* welcome = std::get_if<Welcome>(&orders_.front());
        if (welcome == nullptr) return std::nullopt;
        Welcome taken = *welcome;
        orders_.pop_front();
        --orders_waiting_;
        allow_faults_ = taken.allow_faults;
        return taken;
    }
    return std::nullopt;
}

void WorkerLink::serve(const Welcome& welcome) {
    const auto interval = std::chrono::nanoseconds(welcome.heartbeat_ns) / heartbeats_per_deadline;
    const auto silence_max = std::chrono::nanoseconds(welcome.coordinator_ns);
    Moment next_heartbeat = Clock::now();
    Moment looked = next_heartbeat;
    heard_ = next_heartbeat;
    while (!finishing_) {
        const Moment now = Clock::now();
        // Time in which this process was stopped is not the coordinator's silence.
        if (now - looked > silence_max / 4) heard_ = now;
        looked = now;
        if (now >= next_heartbeat) {
            send(Heartbeat{activity()});
            next_heartbeat = now + interval;
        }
        const bool doubts = now - heard_ > doubt_after && hear_news();
        if (exchange_bytes(next_heartbeat) && now - heard_ <= silence_max && !doubts) continue;
        if (finishing_ || !rejoin()) break;
        looked = heard_ = Clock::now();
    }
    const Moment last = Clock::now() + flush_time;
    while (finishing_ && Clock::now() < last) {
        {
            const std::lock_guard lock(connection_mutex_);
            if (!connection_.wants_to_write()) break;
        }
        if (!exchange_bytes(last)) break;
    }
    end();
}

// Whatever the coordinator that is gone has ordered and what has not begun is not done any more.
void WorkerLink::stand_alone() {
    {
        const std::lock_guard lock(connection_mutex_);
        joined_ = false;
    }
    hold_seen_ = std::numeric_limits<std::uint32_t>::max();
    abort_where(0, last_attempt_);
    const std::lock_guard lock(orders_mutex_);
    orders_.clear();
    orders_.emplace_back(Discard{last_attempt_});
    orders_waiting_ = 1;
    orders_changed_.notify_all();
}

bool WorkerLink::rejoin() {
    if (tenure_.run.empty()) return false;
    stand_alone();
    const Moment end = Clock::now() + std::chrono::nanoseconds(tenure_.rejoin_ns);
    while (Clock::now() < end && !finishing_) {
        hear_news();
        if (try_to_rejoin()) return true;
        if (!invitation_.others.empty()) {  // each in turn
            invitation_.others.push_back(
                std::exchange(invitation_.address, invitation_.others.front()));
            invitation_.others.erase(invitation_.others.begin());
        }
        std::this_thread::sleep_for(rejoin_pause);
    }
    return false;
}

// Where the agent has found the next coordinator, if it has: true if that is elsewhere, and new.
bool WorkerLink::hear_news() {
    if (invitation_.news.empty()) return false;
    std::ifstream file(invitation_.news);
    std::string line;
    std::getline(file, line);
    const auto address = SocketAddress::of_text(line);
    if (!address || std::exchange(heard_of_, line) == line) return false;
    if (line == invitation_.address.text()) return false;
    invitation_.others.insert(invitation_.others.begin(), invitation_.address);
    invitation_.address = *address;
    return true;
}

bool WorkerLink::try_to_rejoin() {
    try {
        Connection fresh = accept_invitation(invitation_, rejoin_connect_time);
        const std::lock_guard lock(connection_mutex_);
        connection_ = std::move(fresh);
    } catch (const std::system_error&) {
        return false;  // nobody is there yet
    }
    refuses_ = false;
    const Moment end = Clock::now() + rejoin_answer_time;
    while (Clock::now() < end && !finishing_ && !refuses_) {
        const bool open = exchange_bytes(end);
        const std::lock_guard lock(connection_mutex_);
        if (joined_) return true;
        if (!open) return false;
    }
    return false;
}

void WorkerLink::heed(const Tenure& tenure) {
    const std::lock_guard lock(connection_mutex_);
    if (tenure.may_follow(tenure_)) {
        tenure_ = tenure;
        if (!joined_) hold_seen_ = 0;
        joined_ = true;
        return;
    }
    refuses_ = true;
    [[maybe_unused]] const auto problem = connection_.send(Superseded{tenure_.run, tenure_.term});
}

void WorkerLink::end() {
    over_ = true;
    abort_where(std::numeric_limits<std::uint64_t>::max(), no_attempt);
    const std::lock_guard lock(orders_mutex_);
    orders_changed_.notify_all();
}

void WorkerLink::obey(Message message) {
    if (const auto* tenure = std::get_if<Tenure>(&message)) return heed(*tenure);
    // Only this thread sets it.
    if (!joined_ || std::holds_alternative<Ping>(message)) return;
    if (const auto* order = std::get_if<Transition>(&message)) last_attempt_ = order->attempt;
    if (const auto* fault = std::get_if<Inject>(&message)) {
        if (allow_faults_) inject(fault->fault);
        return;
    }
    if (const auto* hold = std::get_if<Hold>(&message)) {
        hold_seen_ = std::max(hold_seen_.load(), hold->number);
        return;
    }
    if (const auto* abandon = std::get_if<Abandon>(&message)) abort_where(abandon->epoch, 0);
    if (const auto* discard = std::get_if<Discard>(&message)) abort_where(0, discard->attempt);
    if (std::holds_alternative<Leave>(message)) {
        abort_where(std::numeric_limits<std::uint64_t>::max(), 0);
    }
    const std::lock_guard lock(orders_mutex_);
    orders_.push_back(std::move(message));
    ++orders_waiting_;
    orders_changed_.notify_all();
}

void WorkerLink::inject(Fault fault) {
    switch (fault) {
        case Fault::close_sockets: shut_all_sockets(); break;
        case Fault::fill_disk: let_writes_fail(); break;
        case Fault::stop_heartbeats: mute_ = true; break;
        case Fault::hang: hang_ = true; break;
        case Fault::tear_step: tear_ = true; break;
        case Fault::die_writing: let_writes_kill(); break;
    }
}

void WorkerLink::abort_where(std::uint64_t epoch, std::uint64_t attempt) {
    const std::lock_guard lock(watched_mutex_);
    abandoned_ = std::max(abandoned_, epoch);
    discarded_ = std::max(discarded_, attempt);
    for (const Watched& each : watched_) {
        if (each.epoch <= abandoned_ || each.attempt <= discarded_) each.communicator->abort();
    }
}

void WorkerLink::watch(kernels::Communicator& communicator, std::uint64_t epoch,
                       std::uint64_t attempt) {
    const std::lock_guard lock(watched_mutex_);
    watched_.push_back({&communicator, epoch, attempt});
    if (epoch <= abandoned_ || attempt <= discarded_) communicator.abort();
}

void WorkerLink::committed(kernels::Communicator& communicator) {
    const std::lock_guard lock(watched_mutex_);
    for (Watched& each : watched_) {
        if (each.communicator == &communicator) each.attempt = no_attempt;
    }
}

void WorkerLink::forget(kernels::Communicator& communicator) {
    const std::lock_guard lock(watched_mutex_);
    std::erase_if(watched_,
                  [&](const Watched& each) { return each.communicator == &communicator; });
}

std::optional<Message> WorkerLink::next_order() {
    std::unique_lock lock(orders_mutex_);
    orders_changed_.wait(lock, [this] { return !orders_.empty() || over_; });
    if (over_) return std::nullopt;
    Message order = std::move(orders_.front());
    orders_.pop_front();
    --orders_waiting_;
    return order;
}

void WorkerLink::finish() {
    finishing_ = true;
    wake();
}

void WorkerLink::wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

// Mostly written at once; what is left is for the control thread.
void WorkerLink::send(const Message& message) {
    if (mute_) return;
    const std::lock_guard lock(connection_mutex_);
    if (!joined_) return;
    // A connection that failed shows when it is read from.
    const auto problem = connection_.send(message);
    if (problem || connection_.wants_to_write()) wake();
}

void WorkerLink::wait_for_room() {
    while (!over_) {
        {
            const std::lock_guard lock(connection_mutex_);
            if (!joined_ || connection_.unsent_bytes() <= unsent_bytes_max) return;
        }
        std::this_thread::sleep_for(1ms);
    }
}

Activity WorkerLink::activity() const {
    Activity now{phase_, step_, collectives_};
    if (now.phase == WorkerPhase::computing && in_flight_ > 0) now.phase = WorkerPhase::exchanging;
    return now;
}

void WorkerLink::at(WorkerPhase phase, std::int64_t step) {
    phase_ = phase;
    step_ = step;
}

void WorkerLink::collective_begins() {
    ++collectives_;
    ++in_flight_;
}

void WorkerLink::collective_ends() { --in_flight_; }

void WorkerLink::hang_if_told() {
    while (hang_ && !over_) std::this_thread::sleep_for(10ms);
}

void WorkerLink::await_abandonment(std::uint64_t epoch) {
    const auto is_abandoned = [&] {
        const std::lock_guard lock(watched_mutex_);
        return abandoned_ >= epoch;
    };
    while (!is_abandoned() && !over_) std::this_thread::sleep_for(1ms);
}

}  // namespace ukemi::runtime
