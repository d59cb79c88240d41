// train_agents_chaos_test.cpp — random faults to a run with agents and a Redis, all of them
// programs of their own: workers, agents, coordinators and Redis are killed or frozen.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>

#include "base/rng.hpp"
#include "tests/cli/agents_rig.hpp"
#include "tests/redis_server.hpp"

namespace ukemi {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int slots_each = 2;
constexpr int workers = 4;
constexpr auto deadline = 60s;  // until all train again: what agents and workers wait at most

int faults_wanted() {
    const char* const given = std::getenv("UKEMI_AGENTS_CHAOS");
    return given == nullptr ? 9 : std::atoi(given);
}

enum class Harm : std::uint8_t {
    kill_worker,
    freeze_worker,
    kill_agent,
    freeze_agent,
    kill_coordinator,
    freeze_coordinator,
    empty_redis,
    freeze_redis,
    kill_coordinator_and_redis,
};
constexpr std::size_t harms = 9;

bool is_worker_of(int process, const fs::path& folder) {
    std::error_code ignored;
    return fs::read_symlink(fmt::format("/proc/{}/cwd", process), ignored) == folder;
}

// The run as it is now.
class HarmedRun {
public:
    HarmedRun() : rig_(without_end, workers, workers) {
        write_secret(rig_.folder() / "password", RedisServer::password() + "\n");
        redis_.start();
        start_coordinator();
        for (const char* name : {"one", "two"}) start_agent(name);
        await_all();
    }

    void harm(Harm kind, RandomStream& random) {
        RunningProgram& agent = *agents_.at(random.chance(0.5) ? "one" : "two");
        const auto some_worker = [&] {
            const std::set<int> all = children_of_process(agent.id());
            REQUIRE_FALSE(all.empty());
            return *std::next(all.begin(), random.integer(0, std::ssize(all) - 1));
        };
        note_workers();
        trained_ = times_trained();
        switch (kind) {
            case Harm::kill_worker: ::kill(some_worker(), SIGKILL); return await_all();
            case Harm::freeze_worker: return freeze(some_worker());
            case Harm::kill_agent:
                return replace_agent(&agent == agents_.at("one").get() ? "one" : "two");
            case Harm::freeze_agent: return freeze(agent.id());
            case Harm::kill_coordinator: return replace_coordinator();
            case Harm::freeze_coordinator: return freeze(run_->id());
            case Harm::empty_redis: redis_.start(); return;
            case Harm::freeze_redis:
                redis_.freeze();
                std::this_thread::sleep_for(std::chrono::milliseconds(random.integer(1, 100)));
                return redis_.thaw();
            case Harm::kill_coordinator_and_redis: redis_.start(); return replace_coordinator();
        }
    }

    // Ends it: what it says, and nothing of it is left.
    Ran end() {
        note_workers();
        run_->send(SIGTERM);
        Ran ran = run_->wait();
        INFO(ran.err);
        for (auto& [name, agent] : agents_) CHECK(agent->wait().code == 0);
        for (const int process : seen_) CHECK_FALSE(is_worker_of(process, rig_.folder()));
        CHECK(ran.code == 1);
        CHECK_THAT(ran.err, Catch::Contains("the model is saved, all "));
        return ran;
    }
    fs::path results() const {
        return fs::directory_iterator(rig_.folder() / out_ / "runs")->path();
    }

private:
    std::vector<std::string> meeting() const {
        return {"--rendezvous", redis_.place(), "--redis-password-file", "password"};
    }
    void start_coordinator() {
        const bool first = out_.empty();
        out_ = first ? "first" : fmt::format("next-{}", ++successors_);
        std::vector<std::string> words = rig_.train_words(out_);
        if (!first) {
            address_ = free_address();  // elsewhere
            *std::ranges::find(words, rig_.address) = address_;
            words.insert(words.end(), {"--resume", "first-checkpoints"});
        }
        const auto more = meeting();
        words.insert(words.end(), more.begin(), more.end());
        run_ = rig_.start(words);
        trained_ = 0;
    }
    void start_agent(const std::string& name) {
        std::vector<std::string> words{"agent",
                                       "--name",
                                       name,
                                       "--secret-file",
                                       "secret",
                                       "--slots",
                                       std::to_string(slots_each)};
        const auto more = meeting();
        words.insert(words.end(), more.begin(), more.end());
        agents_[name] = rig_.start(words);
    }
    void replace_agent(const std::string& name) {
        agents_.at(name)->send(SIGKILL);
        agents_.at(name)->wait();
        start_agent(name);
        await_all();
    }
    void replace_coordinator() {
        run_->send(SIGKILL);
        run_->wait();
        start_coordinator();
        await_all();
    }
    // Shorter than any silence that counts.
    void freeze(int process) {
        ::kill(process, SIGSTOP);
        std::this_thread::sleep_for(20ms);
        ::kill(process, SIGCONT);
    }
    std::size_t times_trained() const {
        const std::string said = run_->said();
        const std::string wanted = fmt::format(": {} workers train", workers);
        std::size_t count = 0;
        for (std::size_t at = said.find(wanted); at != std::string::npos;
             at = said.find(wanted, at + 1)) {
            ++count;
        }
        return count;
    }
    void await_all() {
        const auto end = std::chrono::steady_clock::now() + deadline;
        while (times_trained() <= trained_) {
            INFO(run_->said());
            REQUIRE_FALSE(run_->has_ended());
            REQUIRE(std::chrono::steady_clock::now() < end);
            std::this_thread::sleep_for(10ms);
        }
    }
    void note_workers() {
        for (const auto& [name, agent] : agents_) seen_.merge(children_of_process(agent->id()));
    }

    AgentsRig rig_;
    RedisServer redis_;
    std::unique_ptr<RunningProgram> run_;
    std::map<std::string, std::unique_ptr<RunningProgram>> agents_;
    std::string out_;
    std::string address_;
    int successors_ = 0;
    std::size_t trained_ = 0;
    std::set<int> seen_;  // all workers there ever were
};

}  // namespace

TEST_CASE("ukemi train: random faults of workers, agents, coordinators and Redis lose no step",
          "[cli][live][chaos]") {
#ifndef UKEMI_WITH_HIREDIS
    WARN("skipped: a build without hiredis");
    return;
#endif
    if (!RedisServer::is_here()) {
        WARN("skipped: no redis-server here");
        return;
    }
    HarmedRun run;
    RandomStream random(23, "agents' chaos");
    const int wanted = faults_wanted();
    for (int i = 0; i < wanted; ++i) {
        // Each kind once, and then any.
        const auto kind =
            i < static_cast<int>(harms) ? i : static_cast<int>(random.integer(0, harms - 1));
        CAPTURE(i, kind);
        run.harm(static_cast<Harm>(kind), random);
    }
    run.end();
    check_steps_and_decisions(run.results());
}

}  // namespace ukemi
