// nccl_resize_bench.cpp — a group of processes over NCCL that forms, shrinks, forms anew and loses
// a member: how long each takes, and that sums stay right.
//
// Every process is a rank with an NCCL_HOSTID of its own, so that several may share the one GPU
// there is (NCCL takes them for machines of their own and connects them by sockets; it does not
// support this). The times are therefore those of NCCL's set-up and of our waits, and none of them
// is a bandwidth of GPUs. Without a GPU or NCCL it says so and ends with 77. The parent is the
// coordinator: it carries ids, kills, and tells who is lost. Everything has a deadline, and the
// whole an alarm.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/cuda/handles.hpp"
#include "kernels/nccl/library/nccl_library.hpp"
#include "kernels/nccl/nccl_communicator.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using Clock = std::chrono::steady_clock;

constexpr auto deadline = std::chrono::seconds(20);
constexpr unsigned whole_run_s = 150;

struct Order {
    char kind = 'q';  // i: make an id; c: connect; r: all-reduce; s: shrink; l: lost; q: quit
    NcclId id{};
    int rank = 0;
    int size = 1;
    int subject = -1;  // who leaves, or is lost
    std::uint64_t epoch = 0;
};
struct Answer {
    NcclId id{};
    int outcome = -1;
    int suspect = -1;
    double s = 0;
    std::int64_t wrong = 0;
};

bool write_all(int file, const void* from, std::size_t bytes) {
    return write(file, from, bytes) == static_cast<ssize_t>(bytes);
}
bool read_all(int file, void* into, std::size_t bytes) {
    auto* at = static_cast<char*>(into);
    while (bytes > 0) {
        const ssize_t got = read(file, at, bytes);
        if (got <= 0) return false;
        at += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

// ---- a rank ---------------------------------------------------------------------------------

class Rank {
public:
    explicit Rank(int socket) : socket_(socket), calls_(make_nccl(0)) {}

    void run() {
        std::thread reader([this] { read_orders(); });
        for (;;) {
            const Order order = next_order();
            if (order.kind == 'q') break;
            const Answer answer = obey(order);
            if (!write_all(socket_, &answer, sizeof answer)) break;
        }
        shutdown(socket_, SHUT_RD);
        reader.join();
    }

private:
    void read_orders() {
        Order order;
        while (read_all(socket_, &order, sizeof order)) {
            const std::lock_guard lock(mutex_);
            if (order.kind == 'l') {
                if (peers_) peers_->report_lost(order.subject);
                continue;
            }
            orders_.push_back(order);
            changed_.notify_one();
        }
        const std::lock_guard lock(mutex_);
        orders_.push_back({});
        changed_.notify_one();
    }
    Order next_order() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !orders_.empty(); });
        const Order order = orders_.front();
        orders_.pop_front();
        return order;
    }

    Answer obey(const Order& order) {
        Answer answer;
        const auto begun = Clock::now();
        if (order.kind == 'i') {
            answer.id = calls_->new_id();
            answer.outcome = 0;
        } else if (order.kind == 'c') {
            answer.outcome = static_cast<int>(connect(order));
        } else if (order.kind == 's') {
            answer.outcome = static_cast<int>(connect_within(order));
        } else {
            answer.outcome = static_cast<int>(reduce(answer.wrong));
            answer.suspect = peers_->suspect();
        }
        answer.s = std::chrono::duration<double>(Clock::now() - begun).count();
        return answer;
    }

    // Puts a group that is not connected in the place of the one before, which it returns.
    std::shared_ptr<NcclCommunicator> replace(const Order& order) {
        std::shared_ptr<NcclCommunicator> made = std::make_shared<NcclCommunicator>(
            *calls_, NcclSettings{{order.epoch, order.rank, order.size}, deadline, deadline, {}});
        const std::lock_guard lock(mutex_);
        peers_.swap(made);
        return made;
    }
    Outcome connect(const Order& order) {
        replace(order).reset();
        return peers_->connect(order.id);
    }
    Outcome connect_within(const Order& order) {
        const std::shared_ptr<NcclCommunicator> parent = replace(order);
        const std::vector<int> excluded{order.subject};
        const Outcome outcome = peers_->connect_within(*parent, excluded);
        parent->abort();  // an orderly end would wait for those who have left
        return outcome;
    }

    Outcome reduce(std::int64_t& wrong) {
        const Membership members = peers_->membership();
        std::vector<float> values(1 << 18);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>(static_cast<int>(i % 64) + members.rank);
        }
        const Schedule schedule = all_reduce_schedule(Collective::automatic, members.size);
        const Outcome outcome = peers_->all_reduce_sum("sum", schedule, values);
        for (std::size_t i = 0; outcome == Outcome::ok && i < values.size(); ++i) {
            const int right =
                static_cast<int>(i % 64) * members.size + members.size * (members.size - 1) / 2;
            wrong += values[i] == static_cast<float>(right) ? 0 : 1;
        }
        return outcome;
    }

    int socket_;
    std::unique_ptr<NcclCalls> calls_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Order> orders_;
    std::shared_ptr<NcclCommunicator> peers_;
};

// ---- the coordinator ------------------------------------------------------------------------

struct Child {
    pid_t process = -1;
    int socket = -1;
};

Child start(const char* program, int number) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return {};
    const pid_t process = fork();
    if (process != 0) {
        close(pair[1]);
        return {process, pair[0]};
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(pair[0]);
    setenv("NCCL_HOSTID", fmt::format("ukemi-{}", number).c_str(), 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    setenv("NCCL_IB_DISABLE", "1", 0);
    const std::string socket = fmt::format("{}", pair[1]);
    execl(program, program, "--rank", socket.c_str(), static_cast<char*>(nullptr));
    _exit(127);
}

class Group {
public:
    Group(const char* program, int size) {
        for (int number = 0; number < size; ++number) children_.push_back(start(program, number));
    }
    ~Group() {
        for (const Child& child : children_) {
            if (child.process <= 0) continue;
            const Order quit{};
            write_all(child.socket, &quit, sizeof quit);
            close(child.socket);
            kill(child.process, SIGKILL);
            waitpid(child.process, nullptr, 0);
        }
    }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    // All of these do the same; the slowest one's answer, or the first that is not ok.
    Answer all(std::span<const int> members, Order order) {
        for (std::size_t rank = 0; rank < members.size(); ++rank) {
            order.rank = static_cast<int>(rank);
            order.size = static_cast<int>(members.size());
            tell(members[rank], order);
        }
        Answer slowest;
        slowest.outcome = 0;
        for (const int member : members) {
            const Answer answer = hear(member);
            slowest.s = std::max(slowest.s, answer.s);
            slowest.wrong += answer.wrong;
            slowest.suspect = std::max(slowest.suspect, answer.suspect);
            if (slowest.outcome == 0) slowest.outcome = answer.outcome;
        }
        return slowest;
    }
    NcclId id_of(int member) {
        tell(member, {.kind = 'i'});
        return hear(member).id;
    }
    void tell(int member, const Order& order) {
        write_all(children_[static_cast<std::size_t>(member)].socket, &order, sizeof order);
    }
    Answer hear(int member) {
        Answer answer;
        read_all(children_[static_cast<std::size_t>(member)].socket, &answer, sizeof answer);
        return answer;
    }
    void kill_now(int member) {
        Child& child = children_[static_cast<std::size_t>(member)];
        kill(child.process, SIGKILL);
        waitpid(child.process, nullptr, 0);
        close(child.socket);
        child.process = -1;
    }

private:
    std::vector<Child> children_;
};

bool report(const char* what, const Answer& answer, Outcome wanted) {
    const bool known = answer.outcome >= 0;
    const bool right = answer.outcome == static_cast<int>(wanted) && answer.wrong == 0;
    fmt::print("{:<44}{:>12}{:>12.1f}{:>8}  {}\n", what,
               known ? outcome_names()[static_cast<std::size_t>(answer.outcome)] : "no answer",
               answer.s * 1e3, answer.wrong, right ? "" : "NOT AS IT SHOULD BE");
    std::fflush(stdout);
    return right;
}

bool measure(const char* program, int size) {
    Group group(program, size);
    std::vector<int> everybody(static_cast<std::size_t>(size));
    for (int i = 0; i < size; ++i) everybody[static_cast<std::size_t>(i)] = i;
    const std::vector<int> fewer(everybody.begin(), everybody.end() - 1);
    fmt::print("{} processes on one GPU, 1 MiB sums\n{:<44}{:>12}{:>12}{:>8}\n", size, "",
               "outcome", "slowest ms", "#wrong");
    const auto connect = [&](std::span<const int> members, std::uint64_t epoch) {
        return group.all(members, {.kind = 'c', .id = group.id_of(0), .epoch = epoch});
    };
    const Order reduce{.kind = 'r'};
    bool good = report("form a group", connect(everybody, 1), Outcome::ok);
    good = good && report("first sum", group.all(everybody, reduce), Outcome::ok);
    good = good && report("sum", group.all(everybody, reduce), Outcome::ok);
    if (!good) return false;
    good = report("shrink by one", group.all(fewer, {.kind = 's', .subject = size - 1, .epoch = 2}),
                  Outcome::ok);
    good = good && report("sum of those who stay", group.all(fewer, reduce), Outcome::ok);
    good = good && report("grow: all anew", connect(everybody, 3), Outcome::ok);
    good = good && report("sum", group.all(everybody, reduce), Outcome::ok);
    if (!good) return false;
    group.kill_now(size - 1);
    for (const int member : fewer) group.tell(member, reduce);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // as a heartbeat would take
    Answer lost;
    lost.outcome = -1;
    for (const int member : fewer) group.tell(member, {.kind = 'l', .subject = size - 1});
    for (const int member : fewer) {
        const Answer answer = group.hear(member);
        if (lost.outcome != static_cast<int>(Outcome::ok)) lost.outcome = answer.outcome;
        lost.s = std::max(lost.s, answer.s);
        lost.suspect = answer.suspect;
    }
    good = report("a member killed, told after 200 ms", lost, Outcome::peer_lost);
    fmt::print("  named as lost: rank {}\n", lost.suspect);
    good = report("form a group of the others", connect(fewer, 4), Outcome::ok) && good;
    return report("sum", group.all(fewer, reduce), Outcome::ok) && good;
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 3 && std::strcmp(arguments[1], "--rank") == 0) {
        try {
            Rank(std::atoi(arguments[2])).run();
            return 0;
        } catch (const std::exception& error) {
            fmt::print(stderr, "rank: {}\n", error.what());
            return 1;
        }
    }
    std::signal(SIGPIPE, SIG_IGN);
    // Asked in a process of its own: a parent that has touched the GPU must not fork.
    const pid_t probe = fork();
    if (probe == 0) {
        const std::string missing = cuda::gpu_missing().empty() ? nccl_missing() : "no GPU answers";
        if (!missing.empty()) fmt::print("{}: nothing measured\n", missing);
        std::fflush(stdout);
        _exit(missing.empty() ? 0 : 77);
    }
    int status = 0;
    waitpid(probe, &status, 0);
    if (!WIFEXITED(status)) return 1;
    if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
    alarm(whole_run_s);  // the children die with this process
    const int size = count == 2 ? std::max(std::atoi(arguments[1]), 2) : 3;
    return measure("/proc/self/exe", size) ? 0 : 1;
}
