// collectives_bench.cpp — all-reduce between processes of this machine: each of our schedules
// beside Gloo's own all-reduce over the same transport, and two ways of launching many small ones.
//
// Processes are forked, connected over 127.0.0.1 and run all contenders in turn, several rounds
// over, so that the noise of a shared machine hits all of them. Bandwidths are those of nccl-tests
// (doc/PERFORMANCE.md): algbw = bytes ÷ time, busbw = algbw × 2(n−1)/n. The ratio is the median of
// (our time ÷ Gloo's time) of the same round. Before anything is timed, its result is compared with
// the sum. Google Benchmark cannot measure across processes, so only its options are read.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "base/invariant.hpp"
#include "base/statistics.hpp"
#include "kernels/launcher.hpp"
#include "kernels/socket_communicator.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using Clock = std::chrono::steady_clock;

constexpr int rounds = 5;
constexpr std::array<std::size_t, 5> sizes = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20};
constexpr std::array algorithms = {Collective::ring, Collective::halving_doubling,
                                   Collective::binary_tree, Collective::star};

// Short texts that processes leave for each other, in memory that they share.
class SharedNotes : public gloo::rendezvous::Store {
public:
    void set(const std::string& key, const std::vector<char>& data) override {
        const std::size_t place = page_->used++;
        INVARIANT(place < page_->notes.size());
        Note& note = page_->notes[place];
        INVARIANT(key.size() < note.key.size() && data.size() <= note.data.size());
        std::memcpy(note.key.data(), key.c_str(), key.size() + 1);
        std::memcpy(note.data.data(), data.data(), data.size());
        note.bytes = data.size();
        note.written = true;
    }
    std::vector<char> get(const std::string& key) override {
        for (;;) {
            for (const Note& note : page_->notes) {
                if (!note.written || key != note.key.data()) continue;
                return {note.data.begin(),
                        note.data.begin() + static_cast<std::ptrdiff_t>(note.bytes)};
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    void wait(const std::vector<std::string>& keys) override {
        for (const std::string& key : keys) get(key);
    }
    void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
        wait(keys);
    }

private:
    struct Note {
        std::atomic<bool> written = false;
        std::array<char, 64> key{};
        std::array<char, 4096> data{};
        std::size_t bytes = 0;
    };
    struct Page {
        std::atomic<std::size_t> used = 0;
        std::array<Note, 64> notes;
    };
    static Page* shared_page() {
        void* memory =
            mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        INVARIANT(memory != MAP_FAILED);
        return new (memory) Page;
    }
    Page* page_ = shared_page();  // until the program ends
};

std::unique_ptr<SocketCommunicator> connect_ours(SharedNotes& notes, int rank, int size,
                                                 Encryption encryption) {
    auto peers = std::make_unique<SocketCommunicator>(
        GroupSettings{{0, rank, size}, std::chrono::seconds(60), "bench", "127.0.0.1", encryption});
    const auto address = peers->address();
    std::vector<char> own(address.size());
    std::memcpy(own.data(), address.data(), address.size());
    notes.set(fmt::format("ours{}/{}", static_cast<int>(encryption), rank), own);
    std::vector<std::vector<std::byte>> addresses;
    for (int each = 0; each < size; ++each) {
        const std::vector<char> text =
            notes.get(fmt::format("ours{}/{}", static_cast<int>(encryption), each));
        const auto bytes = std::as_bytes(std::span(text));
        addresses.emplace_back(bytes.begin(), bytes.end());
    }
    INVARIANT(peers->connect(addresses) == Outcome::ok);
    return peers;
}

std::shared_ptr<gloo::rendezvous::Context> connect_theirs(SharedNotes& notes, int rank, int size) {
    auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->connectFullMesh(notes, device);
    return context;
}

struct Contender {
    std::string name;
    std::function<void(std::vector<float>& values)> run;
    std::vector<double> seconds{};    // a round each
    std::vector<double> processor{};  // seconds of this rank's processor, a round each
};

// Of all threads of this process.
double processor_seconds() {
    rusage used{};
    INVARIANT(getrusage(RUSAGE_SELF, &used) == 0);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Only what was asked for: all if nothing was.
struct Asked {
    std::vector<int> ranks{2, 4};
    std::vector<std::size_t> bytes{sizes.begin(), sizes.end()};
    std::vector<std::string> names{};
};
Asked asked;

class Ranks {
public:
    Ranks(SharedNotes& notes, int rank, int size)
        : ours_(connect_ours(notes, rank, size, Encryption::always)),
          plain_(connect_ours(notes, rank, size, Encryption::never)),
          theirs_(connect_theirs(notes, rank, size)),
          rank_(rank),
          size_(size) {}

    void run_all() {
        for (const std::size_t bytes : asked.bytes) compare_schedules(bytes);
        if (asked.names.empty()) compare_launches();
    }

private:
    void barrier() {
        std::vector<std::byte> all(static_cast<std::size_t>(size_));
        INVARIANT(ours_->all_gather("barrier", std::array{std::byte{1}}, all) == Outcome::ok);
    }

    // Seconds of one of `turns` calls, on rank 0 from the first start to the last end.
    template <class Action>
    double time_of(int turns, Action action) {
        barrier();
        const auto start = Clock::now();
        for (int turn = 0; turn < turns; ++turn) action();
        barrier();
        return std::chrono::duration<double>(Clock::now() - start).count() / turns;
    }

    void check(const Contender& contender, std::size_t count) {
        std::vector<float> values(count, static_cast<float>(rank_ + 1));
        contender.run(values);
        const auto expected = static_cast<float>(size_ * (size_ + 1) / 2);
        INVARIANT(std::ranges::all_of(values, [&](float value) { return value == expected; }));
    }

    std::vector<Contender> contenders() {
        std::vector<Contender> all;
        all.push_back({"Gloo's own (ring)", [this](std::vector<float>& values) {
                           gloo::AllreduceOptions options(theirs_);
                           options.setOutput(values.data(), values.size());
                           options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
                           using Sum = void (*)(void*, const void*, const void*, std::size_t);
                           options.setReduceFunction(static_cast<Sum>(&gloo::sum<float>));
                           gloo::allreduce(options);
                       }});
        for (const Collective algorithm : algorithms) {
            const Schedule schedule = all_reduce_schedule(algorithm, size_);
            for (SocketCommunicator* const peers : {ours_.get(), plain_.get()}) {
                all.push_back({schedule.name + (peers == plain_.get() ? ", plain" : ""),
                               [peers, schedule](std::vector<float>& values) {
                                   INVARIANT(peers->all_reduce_sum("bench", schedule, values) ==
                                             Outcome::ok);
                               }});
            }
        }
        std::erase_if(all, [](const Contender& each) {
            return !asked.names.empty() &&
                   std::ranges::find(asked.names, each.name) == asked.names.end();
        });
        return all;
    }

    void compare_schedules(std::size_t bytes) {
        std::vector<Contender> all = contenders();
        const std::size_t count = bytes / sizeof(float);
        const int turns = static_cast<int>(std::clamp<std::size_t>((16 << 20) / bytes, 2, 100));
        std::vector<float> values(count);
        for (Contender& each : all) check(each, count);
        for (int round = 0; round < rounds; ++round) {
            for (Contender& each : all) {
                const double before = processor_seconds();
                each.seconds.push_back(time_of(turns, [&] { each.run(values); }));
                each.processor.push_back((processor_seconds() - before) / turns);
            }
        }
        if (rank_ != 0) return;
        for (const Contender& each : all) print(each, all.front(), bytes);
    }

    void print(const Contender& each, const Contender& reference, std::size_t bytes) const {
        std::vector<double> ratios;
        for (int round = 0; round < rounds; ++round) {
            const auto i = static_cast<std::size_t>(round);
            ratios.push_back(each.seconds[i] / reference.seconds[i]);
        }
        const double seconds = median(each.seconds);
        const double algorithm_gbs = static_cast<double>(bytes) / seconds / 1e9;
        const double bus_gbs = algorithm_gbs * 2 * (size_ - 1) / size_;
        const auto [least, most] = std::ranges::minmax(ratios);
        fmt::print(
            "| {} | {:>8} | {:<23} | {:>9.1f} | {:>6.3f} | {:>6.3f} | {:>5.2f} | {:.2f} … "
            "{:.2f} | {:>8.1f} | {:>5.2f} |\n",
            size_, bytes, each.name, seconds * 1e6, algorithm_gbs, bus_gbs, median(ratios), least,
            most, median(each.processor) * 1e6,
            median(each.processor) / median(reference.processor));
        std::fflush(stdout);
    }

    // A step of 30 buckets of 16 KiB: one after the other, by name and coordinated.
    void compare_launches() {
        constexpr std::size_t buckets = 30;
        const Schedule schedule = all_reduce_schedule(Collective::automatic, size_);
        std::vector<std::vector<float>> values(buckets, std::vector<float>(4096));
        Launcher by_name(*ours_, {false, buckets, std::chrono::microseconds(1000)});
        Launcher coordinated(*ours_, {true, buckets, std::chrono::microseconds(1000)});
        const auto step = [&](Launcher& launcher) {
            for (std::size_t i = 0; i < buckets; ++i) {
                launcher.launch("bucket" + std::to_string(i), schedule, values[i]);
            }
            INVARIANT(launcher.wait_all().outcome == Outcome::ok);
        };
        std::vector<double> in_turn_s;
        std::vector<double> by_name_s;
        std::vector<double> coordinated_s;
        std::vector<double> ratios;
        for (int round = 0; round < rounds; ++round) {
            in_turn_s.push_back(time_of(10, [&] {
                for (auto& each : values) {
                    INVARIANT(ours_->all_reduce_sum("turn", schedule, each) == Outcome::ok);
                }
            }));
            by_name_s.push_back(time_of(10, [&] { step(by_name); }));
            coordinated_s.push_back(time_of(10, [&] { step(coordinated); }));
            ratios.push_back(coordinated_s.back() / by_name_s.back());
        }
        if (rank_ != 0) return;
        const auto [least, most] = std::ranges::minmax(ratios);
        fmt::print(
            "\n{} ranks, 30 buckets of 16 KiB ({}): in turn {:.2f} ms, by name {:.2f} ms, "
            "coordinated {:.2f} ms; coordinated ÷ by name {:.2f} ({:.2f} … {:.2f})\n",
            size_, schedule.name, median(in_turn_s) * 1e3, median(by_name_s) * 1e3,
            median(coordinated_s) * 1e3, median(ratios), least, most);
        std::fflush(stdout);
    }

    std::unique_ptr<SocketCommunicator> ours_;  // encrypted
    std::unique_ptr<SocketCommunicator> plain_;
    std::shared_ptr<gloo::rendezvous::Context> theirs_;
    int rank_;
    int size_;
};

// Forks the ranks and waits for all; false if one failed.
bool run_ranks(int size) {
    SharedNotes notes;
    const pid_t parent = getpid();
    std::vector<pid_t> children;
    std::fflush(stdout);
    for (int rank = 0; rank < size; ++rank) {
        const pid_t child = fork();
        INVARIANT(child >= 0);
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) _exit(3);
            Ranks(notes, rank, size).run_all();
            _exit(0);
        }
        children.push_back(child);
    }
    bool well = true;
    for (const pid_t child : children) {
        int status = 0;
        well = waitpid(child, &status, 0) == child && status == 0 && well;
    }
    return well;
}

// Words such as ranks=2, bytes=16777216, only=ring, each as often as wanted.
bool read_arguments(std::span<char* const> words) {
    std::vector<int> ranks;
    std::vector<std::size_t> bytes;
    for (const std::string_view word : words) {
        const std::size_t at = std::min(word.find('='), word.size());
        const std::string value(word.substr(std::min(at + 1, word.size())));
        if (word.starts_with("ranks=")) {
            ranks.push_back(std::clamp(std::atoi(value.c_str()), 1, 16));
        } else if (word.starts_with("bytes=")) {
            bytes.push_back(std::strtoull(value.c_str(), nullptr, 10) / sizeof(float) *
                            sizeof(float));
        } else if (word.starts_with("only=")) {
            asked.names.push_back(value);
        } else {
            fmt::print(stderr, "expected ranks=N, bytes=N or only=NAME, found {}\n", word);
            return false;
        }
    }
    if (!ranks.empty()) asked.ranks = ranks;
    if (!bytes.empty()) asked.bytes = bytes;
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (!read_arguments({argv + 1, static_cast<std::size_t>(argc - 1)})) return 2;
    fmt::print(
        "| ranks | bytes | algorithm | us | algbw, GB/s | busbw, GB/s | ÷ Gloo | least … "
        "most | processor, us | ÷ Gloo |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (const int size : asked.ranks) {
        if (!run_ranks(size)) return 1;
    }
    return 0;
}
