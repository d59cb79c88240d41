// network_chaos_test.cpp — random faults to a run with agents and a Redis on hosts of their own:
// ways that are cut, one way or both, or lossy, and programs that are killed or frozen for longer
// than counts.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/rng.hpp"
#include "tests/cli/switched_rig.hpp"
#include "tests/redis_server.hpp"

namespace ukemi {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int hosts_of_run = 3;
constexpr int redis_host = hosts_of_run + 1;
constexpr int slots_each = 2;
constexpr auto deadline = 60s;     // until all train again: what agents and workers wait at most
constexpr auto noticed = 2'500ms;  // a silence that counts (CrewDeadlines::heartbeat), and some

int faults_wanted() {
    const char* const given = std::getenv("UKEMI_NETWORK_CHAOS");
    return given == nullptr ? 0 : std::atoi(given);
}

enum class Fault : std::uint8_t {
    cut_off,
    mute,
    deaf,
    apart,
    short_cut,
    lossy,
    kill_worker,
    freeze_worker,
    kill_agent,
    freeze_agent,
    kill_coordinator,
    freeze_coordinator,
    kill_redis,
    freeze_redis,
    cut_off_redis,
    kill_redis_and_coordinator,
};
constexpr int fault_kinds = 16;
constexpr int kinds_without_redis = 12;
constexpr std::array quick_faults{Fault::cut_off, Fault::short_cut, Fault::freeze_worker,
                                  Fault::freeze_redis, Fault::kill_redis_and_coordinator};

// Each kind once, and then any.
Fault fault_number(int i, int kinds, RandomStream& random) {
    return static_cast<Fault>(i < kinds ? i : random.integer(0, kinds - 1));
}

bool can_have_redis() {
#ifdef UKEMI_WITH_HIREDIS
    return RedisServer::is_here();
#else
    return false;
#endif
}

class NetworkedRun {
public:
    NetworkedRun() : rig_(redis_host, without_end, 2, hosts_of_run * slots_each) {
        if (is_skipped(rig_)) return;
        if (can_have_redis()) start_redis();
        run_ = rig_.train_by_agents("first", meeting());
        for (int host = 1; host <= hosts_of_run; ++host) start_agent(host);
        await_all();
    }
    bool is_there() const { return run_ != nullptr; }
    int kinds() const { return redis_ ? fault_kinds : kinds_without_redis; }

    void suffer(Fault fault, RandomStream& random) {
        const int host = static_cast<int>(random.integer(1, hosts_of_run));
        const int agent = agents_.at(host)->id();
        switch (fault) {
            case Fault::cut_off: cut(host, true, true, random.integer(2'500, 5'000)); break;
            case Fault::mute: cut(host, true, false, random.integer(2'500, 5'000)); break;
            case Fault::deaf: cut(host, false, true, random.integer(2'500, 5'000)); break;
            case Fault::apart: keep_apart(host, host % hosts_of_run + 1); break;
            case Fault::short_cut: cut(host, true, true, random.integer(50, 1'000)); break;
            case Fault::lossy: lose_packets(); break;
            case Fault::kill_worker: ::kill(some_worker_of(agent), SIGKILL); break;
            case Fault::freeze_worker: freeze(some_worker_of(agent)); break;
            case Fault::kill_agent: replace_agent(host); break;
            case Fault::freeze_agent: freeze(agent); break;
            case Fault::kill_coordinator: replace_coordinator(); break;
            case Fault::freeze_coordinator: freeze(run_->id()); break;
            case Fault::kill_redis: kill_redis(random.integer(0, 5'000)); break;
            case Fault::freeze_redis: freeze_redis(random.integer(100, 6'000)); break;
            case Fault::cut_off_redis:
                cut(redis_host, true, true, random.integer(100, 5'000));
                break;
            case Fault::kill_redis_and_coordinator:
                redis_->start();
                replace_coordinator();
                break;
        }
        std::this_thread::sleep_for(noticed);
        await_all();
    }

    // Ends it: all is in order, and nothing of it is left.
    void end() {
        run_->send(SIGTERM);
        const Ran ran = run_->wait();
        INFO(ran.err);
        CHECK(ran.code == 1);
        CHECK_THAT(ran.err, Catch::Contains("the model is saved, all "));
        for (auto& [host, agent] : agents_) CHECK(agent->wait().code == 0);
        CHECK(rig_.hosts.nobody_is_left(hosts_of_run));
        check_steps_and_decisions(fs::directory_iterator(rig_.folder() / out_ / "runs")->path());
    }

private:
    void start_redis() {
        write_secret(rig_.folder() / "password", RedisServer::password() + "\n");
        std::vector<std::string> words = rig_.hosts.on(redis_host);
        words.insert(words.begin(), netns_program);
        const auto address = SocketAddress::of_host(fmt::format("10.77.0.1{}", redis_host), 6379);
        redis_.emplace(*address, words);
        redis_->start();
    }
    // Agents find the coordinator there, if there is one.
    std::vector<std::string> meeting() const {
        if (!redis_) return {};
        return {"--rendezvous", redis_->place(), "--redis-password-file", "password"};
    }
    void start_agent(int host) {
        agents_[host] = redis_ ? rig_.agent(host, 0, meeting()) : rig_.agent(host);
    }
    // What it knew is gone.
    void kill_redis(std::int64_t ms) {
        redis_->stop();
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        redis_->start();
    }
    void freeze_redis(std::int64_t ms) {
        redis_->freeze();
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        redis_->thaw();
    }
    // Nothing that the host sends, or nothing that is sent to it, gets through for so long.
    void cut(int host, bool sends, bool receives, std::int64_t ms) {
        const auto set = [&](bool stopped) {
            for (int other = 0; other <= redis_host; ++other) {
                if (other == host) continue;
                if (sends) rig_.hosts.set_way_from(host, other, {.stopped = stopped});
                if (receives) rig_.hosts.set_way_from(other, host, {.stopped = stopped});
            }
        };
        set(true);
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        set(false);
    }
    // Both still reach the coordinator. Longer than a collective may take.
    void keep_apart(int one, int other) {
        rig_.hosts.set_way(one, other, {.stopped = true});
        std::this_thread::sleep_for(6s);
        rig_.hosts.set_way(one, other, {});
    }
    void lose_packets() {
        rig_.hosts.set_ways({.lost = 0.2});
        std::this_thread::sleep_for(10s);
        rig_.hosts.set_ways({});
    }
    static int some_worker_of(int agent) {
        const auto end = std::chrono::steady_clock::now() + deadline;
        for (;;) {
            const std::set<int> all = children_of_process(agent);
            if (!all.empty()) return *all.begin();
            REQUIRE(std::chrono::steady_clock::now() < end);
            std::this_thread::sleep_for(10ms);
        }
    }
    static void freeze(int process) {
        ::kill(process, SIGSTOP);
        std::this_thread::sleep_for(noticed);
        ::kill(process, SIGCONT);
    }
    void replace_agent(int host) {
        agents_.at(host)->send(SIGKILL);
        agents_.at(host)->wait();
        start_agent(host);
    }
    void replace_coordinator() {
        run_->send(SIGKILL);
        run_->wait();
        out_ = fmt::format("next-{}", ++successors_);
        std::vector<std::string> words = meeting();
        words.insert(words.end(), {"--resume", "first-checkpoints"});
        run_ = rig_.train_by_agents(out_, words);
    }
    // The last that it said of its workers is that all train.
    bool all_train() const {
        const std::string said = run_->said();
        const std::size_t at = said.rfind(" workers train");
        const std::string all = fmt::format(": {}", hosts_of_run * slots_each);
        return at != std::string::npos && at >= all.size() &&
               said.compare(at - all.size(), all.size(), all) == 0;
    }
    void await_all() const {
        const auto end = std::chrono::steady_clock::now() + deadline;
        while (!all_train()) {
            INFO(run_->said());
            REQUIRE_FALSE(run_->has_ended());
            REQUIRE(std::chrono::steady_clock::now() < end);
            std::this_thread::sleep_for(20ms);
        }
    }

    SwitchedRig rig_;
    std::optional<RedisServer> redis_;
    std::unique_ptr<RunningProgram> run_;
    std::map<int, std::unique_ptr<RunningProgram>> agents_;
    std::string out_ = "first";
    int successors_ = 0;
};

// Made by a process of this name, for a test.
bool has_namespaces() {
    const std::string prefix = fmt::format("uk{}-", ::getpid());
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/var/run/netns", ignored)) {
        if (entry.path().filename().string().starts_with(prefix)) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("networked hosts: random faults of ways, hosts and programs lose no step",
          "[cli][live][chaos]") {
    {
        NetworkedRun run;
        if (!run.is_there()) return;
        RandomStream random(23, "networks' chaos");
        const int wanted = faults_wanted();
        const int count = wanted > 0 ? wanted : static_cast<int>(quick_faults.size());
        for (int i = 0; i < count; ++i) {
            const Fault kind = wanted > 0 ? fault_number(i, run.kinds(), random)
                                          : quick_faults.at(static_cast<std::size_t>(i));
            if (static_cast<int>(kind) >= run.kinds()) {
                WARN("skipped: no redis-server here, or a build without hiredis");
                continue;
            }
            CAPTURE(i, static_cast<int>(kind));
            run.suffer(kind, random);
        }
        run.end();
    }
    CHECK_FALSE(has_namespaces());
}

}  // namespace ukemi
