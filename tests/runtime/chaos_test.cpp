// chaos_test.cpp — random harm at random moments, again and again, to one long run.
//
// UKEMI_CHAOS_COUNT injections (40) from the seed UKEMI_CHAOS_SEED (1): members and newcomers are
// killed, stopped or cut off while they train, enter a group or write a checkpoint. Whatever comes
// of it, waits end in time, no committed step or sample is lost, repeated or skipped (CrewRig
// checks every event), replicas agree (every transition compares their digests), and at the end no
// process is left. The seed fixes what is done when, not how the machine's timing answers.
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <set>

#include "base/rng.hpp"
#include "tests/runtime/crew_rig.hpp"

namespace ukemi {

namespace {

std::int64_t setting(const char* name, std::int64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoll(text);
}

class Chaos {
public:
    explicit Chaos(std::uint64_t seed) : random_(seed, "chaos") {}

    // One injection, and the proof that the run goes on.
    void round() {
        fill_pool();
        enter_calmly();
        switch (random_.integer(0, 2)) {
            case 0: harm_while_training(); break;
            case 1: harm_in_transition(); break;
            default: harm_while_saving(); break;
        }
    }
    void finish() {
        fill_pool();
        enter_calmly();
    }
    CrewRig& rig() { return rig_; }
    const std::map<InstanceId, int>& processes() const { return processes_; }
    int restarts() const { return restarts_; }
    const std::vector<std::string>& bystanders() const { return bystanders_; }
    std::chrono::milliseconds longest() const { return longest_; }

private:
    std::int64_t draw(std::int64_t min, std::int64_t max) { return random_.integer(min, max); }

    // Looks until `done`, which must be so in time.
    template <class Done>
    void await(const char* what, std::chrono::milliseconds limit, Done done) {
        const auto begun = std::chrono::steady_clock::now();
        while (!done()) {
            const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(
                std::chrono::steady_clock::now() - begun);
            longest_ = std::max(longest_, waited);
            if (waited > limit) {
                INFO(what << "\n" << rig_.story());
                REQUIRE(waited <= limit);
            }
            look(20ms);
        }
    }
    void look(std::chrono::milliseconds time) {
        rig_.look(time);
        for (; seen_ < rig_.log.size(); ++seen_) {
            const runtime::CrewEvent& event = rig_.log[seen_];
            if (const auto* ready = std::get_if<runtime::WorkerReady>(&event))
                ready_.insert(ready->worker);
            if (const auto* died = std::get_if<runtime::WorkerDied>(&event)) {
                ready_.erase(died->worker);
                holders_.erase(died->worker);
                alive_.erase(died->worker);
                if (!victims_.contains(died->worker)) bystanders_.push_back(died->why);
            }
            if (const auto* entered = std::get_if<runtime::GroupEntered>(&event)) {
                entered_ = true;
                step_ = entered->step;
                holders_.clear();
                for (const InstanceId id : members_) {
                    if (alive_.contains(id)) holders_.insert(id);
                }
            }
            if (const auto* failed = std::get_if<runtime::TransitionFailed>(&event)) {
                failed_ = true;
                // Nothing but a loss makes one fail here.
                CHECK(failed->why.find("differ") == std::string::npos);
            }
            if (const auto* done = std::get_if<runtime::StepDone>(&event)) step_ = done->step + 1;
            if (std::holds_alternative<runtime::GroupHeld>(event)) held_ = true;
            if (const auto* saved = std::get_if<runtime::CheckpointSaved>(&event)) {
                saved_ = *saved;
                saving_ = false;
            }
            if (std::holds_alternative<runtime::CheckpointFailed>(event)) saving_ = false;
        }
    }

    void fill_pool() {
        const auto wanted = static_cast<std::size_t>(draw(3, 5));
        while (alive_.size() < wanted) {
            const InstanceId id{next_id_++};
            rig_.crew.spawn(id);
            alive_.insert(id);
            processes_[id] = rig_.crew.process_of(id);
        }
        await("workers are ready", limits_.spawn, [&] { return ready_ == alive_; });
    }

    // One to four of those that are ready, in any order, with one that has the state among them.
    std::vector<InstanceId> choose_members() {
        std::vector<InstanceId> pool(ready_.begin(), ready_.end());
        for (std::size_t last = pool.size(); last-- > 1;) {
            std::swap(pool[last],
                      pool[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(last)))]);
        }
        const auto size = std::min(pool.size(), static_cast<std::size_t>(draw(1, 4)));
        const auto has = [&](InstanceId id) { return holders_.contains(id); };
        const auto end = pool.begin() + static_cast<std::ptrdiff_t>(size);
        if (!holders_.empty() && std::none_of(pool.begin(), end, has)) {
            std::iter_swap(pool.begin(), std::find_if(pool.begin(), pool.end(), has));
        }
        pool.resize(size);
        return pool;
    }

    void begin_transition() {
        members_ = choose_members();
        entered_ = failed_ = false;
        policies::Plan plan = plan_of(++version_, draw(1, 6));
        plan.accumulation = static_cast<std::int32_t>(draw(1, 2));
        plan.collective = draw(0, 1) == 0 ? policies::Collective::ring : policies::Collective::star;
        if (holders_.empty()) {
            rig_.may_go_back = true;
            if (version_ > 1) ++restarts_;
        }
        const auto checkpoint = holders_.empty() && saved_ ? saved_->file : std::filesystem::path();
        rig_.crew.begin_transition(members_, plan, checkpoint);
    }
    void await_transition() {
        await("the transition ends", limits_.transition + limits_.heartbeat * 2 + slack,
              [&] { return entered_ || failed_; });
    }

    // Nobody is harmed, but harm done a moment ago may still show. So it may take a few attempts.
    void enter_calmly() {
        for (int attempt = 0; attempt < 4; ++attempt) {
            const bool from_nothing = holders_.empty();
            const std::int64_t expected = saved_ ? saved_->step : 0;
            const std::int64_t before = step_;
            begin_transition();
            await_transition();
            if (!entered_) continue;
            // Without a member that has the state, somebody who was left out may still have it.
            if (from_nothing) CHECK((step_ == expected || step_ == before));
            held_ = false;
            rig_.crew.run_until(step_ + draw(1, 4));
            // A machine that is too busy may cost a member, too.
            const auto lost = [&](InstanceId id) { return !alive_.contains(id); };
            const auto broken = [&] { return std::ranges::any_of(members_, lost); };
            await("the limit is reached", limits_.collective + limits_.heartbeat * 2 + slack,
                  [&] { return held_ || broken(); });
            if (!broken()) return;
        }
        INFO(rig_.story());
        FAIL("no group could be entered");
    }

    void harm(InstanceId victim) {
        const int process = processes_.at(victim);
        switch (draw(0, 2)) {
            case 0: ::kill(process, SIGKILL); break;
            case 1: ::kill(process, SIGSTOP); break;
            default: rig_.crew.inject(victim, runtime::Fault::close_sockets); break;
        }
        victims_.insert(victim);
    }
    void harm_some() {
        std::vector<InstanceId> left = members_;
        std::int64_t count = draw(1, 10);  // mostly one, seldom two, hardly ever all
        count = count <= 7 ? 1 : count <= 9 ? 2 : 4;
        while (count-- > 0 && !left.empty()) {
            const auto at = draw(0, static_cast<std::int64_t>(left.size()) - 1);
            harm(left[static_cast<std::size_t>(at)]);
            left.erase(left.begin() + at);
        }
    }
    void await_deaths() {
        await("the dead are found", limits_.heartbeat * 2 + limits_.collective + slack, [&] {
            return std::none_of(victims_.begin(), victims_.end(),
                                [&](InstanceId id) { return alive_.contains(id); });
        });
        victims_.clear();
    }

    void harm_while_training() {
        rig_.crew.run();
        look(std::chrono::milliseconds(draw(0, 30)));
        harm_some();
        await_deaths();
    }
    void harm_in_transition() {
        begin_transition();
        const std::int64_t pause_us = draw(0, 8'000);
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(pause_us);
        while (std::chrono::steady_clock::now() < end) look(0ms);
        harm_some();
        await_transition();
        await_deaths();
    }
    void harm_while_saving() {
        rig_.crew.save();
        saving_ = true;
        const std::int64_t pause_us = draw(0, 3'000);
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(pause_us);
        while (std::chrono::steady_clock::now() < end) look(0ms);
        harm_some();
        await_deaths();
        await("saving ends", limits_.checkpoint + slack, [&] { return !saving_; });
    }

    static constexpr auto slack = 3'000ms * patience;
    runtime::CrewDeadlines limits_ = short_deadlines();
    RandomStream random_;
    CrewRig rig_;
    std::size_t seen_ = 0;
    std::set<InstanceId> alive_;
    std::set<InstanceId> ready_;
    std::set<InstanceId> holders_;
    std::set<InstanceId> victims_;
    std::vector<InstanceId> members_;
    std::map<InstanceId, int> processes_;
    std::optional<runtime::CheckpointSaved> saved_;
    std::int64_t step_ = 0;
    std::uint32_t next_id_ = 0;
    std::uint32_t version_ = 0;
    int restarts_ = 0;
    std::vector<std::string> bystanders_;  // why those died whom nobody had harmed
    bool entered_ = false;
    bool failed_ = false;
    bool held_ = false;
    bool saving_ = false;
    std::chrono::milliseconds longest_{0};
};

}  // namespace

TEST_CASE("crew: random harm at random moments costs torn steps and nothing else",
          "[live][property]") {
    const auto seed = static_cast<std::uint64_t>(setting("UKEMI_CHAOS_SEED", 1));
    const std::int64_t count = setting("UKEMI_CHAOS_COUNT", 40);
    std::map<InstanceId, int> processes;
    {
        Chaos chaos(seed);
        for (std::int64_t i = 0; i < count; ++i) {
            CAPTURE(seed, i);
            chaos.round();
        }
        chaos.finish();
        processes = chaos.processes();
        CHECK(processes.size() >= static_cast<std::size_t>(count));
        if (count > 100) {
            WARN(count << " injections, " << processes.size() << " workers, "
                       << chaos.rig().steps().size() << " steps, " << chaos.restarts()
                       << " restarts from a file or from nothing, longest wait "
                       << chaos.longest().count() << " ms, " << chaos.bystanders().size()
                       << " bystanders lost");
            for (const std::string& why : chaos.bystanders()) WARN(why);
        }
    }
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    CHECK(errno == ECHILD);
}

}  // namespace ukemi
