// launcher.cpp — lanes for operations that find each other by name, and cycles for those that wait
// for an agreed order.
#include "kernels/launcher.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/invariant.hpp"
#include "kernels/launch_agreement.hpp"

namespace ukemi::kernels {

namespace {

using LaunchClock = std::chrono::steady_clock;

struct Launched {
    std::string name;
    std::function<Outcome()> operations;
};

std::int64_t nanoseconds(LaunchClock::duration time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

struct Launcher::State {
    State(Communicator& communicator, LaunchSettings chosen)
        : peers(communicator), settings(chosen), agreement(communicator) {
        INVARIANT(settings.operations_max > 0 && settings.cycle_time.count() >= 0);
        if (settings.coordinated) threads.emplace_back([this] { run_cycles(); });
    }

    ~State() {
        {
            std::unique_lock lock(mutex);
            all_ended.wait(lock, [&] { return in_flight == 0; });
            stopping = true;
            work.notify_all();
        }
        for (std::thread& thread : threads) thread.join();
    }

    // Runs one operation; the lock is free meanwhile.
    void run(std::unique_lock<std::mutex>& lock, const Launched& launched) {
        if (running++ == 0) busy_since = LaunchClock::now();
        lock.unlock();
        const Outcome outcome = launched.operations();
        lock.lock();
        if (--running == 0) result.busy_ns += nanoseconds(LaunchClock::now() - busy_since);
        end(outcome);
    }

    void end(Outcome outcome) {  // under the lock
        if (result.outcome == Outcome::ok) result.outcome = outcome;
        ++result.operations;
        if (--in_flight == 0) all_ended.notify_all();
    }

    void run_lane() {
        std::unique_lock lock(mutex);
        for (;;) {
            ++idle_lanes;
            work.wait(lock, [&] { return stopping || !ready.empty(); });
            --idle_lanes;
            if (ready.empty()) return;
            const Launched next = std::move(ready.front());
            ready.pop_front();
            run(lock, next);
        }
    }

    void run_cycles() {
        LaunchClock::time_point next_cycle = LaunchClock::now();
        std::unique_lock lock(mutex);
        for (;;) {
            work.wait(lock, [&] { return stopping || !ready.empty() || !waiting.empty(); });
            if (ready.empty() && waiting.empty()) return;
            // What becomes ready meanwhile takes part in the cycle.
            work.wait_until(lock, next_cycle, [] { return false; });
            next_cycle = LaunchClock::now() + settings.cycle_time;
            for (Launched& launched : ready) {
                agreement.offer(launched.name);
                std::string name = launched.name;
                waiting.emplace(std::move(name), std::move(launched));
            }
            ready.clear();
            ++result.cycles;
            lock.unlock();
            const LaunchAgreement::Cycle cycle = agreement.run_cycle();
            lock.lock();
            for (const std::string& name : cycle.names) {
                const auto found = waiting.find(name);
                INVARIANT(found != waiting.end());
                const Launched next = std::move(found->second);
                waiting.erase(found);
                run(lock, next);
            }
            if (cycle.outcome == Outcome::ok) continue;
            for (std::size_t i = waiting.size(); i > 0; --i) end(cycle.outcome);
            waiting.clear();
        }
    }

    Communicator& peers;
    const LaunchSettings settings;
    std::mutex mutex;
    std::condition_variable work;
    std::condition_variable all_ended;
    std::deque<Launched> ready;  // launched, nobody has taken it up
    int in_flight = 0;           // launched and not ended
    int running = 0;
    int idle_lanes = 0;
    bool stopping = false;
    LaunchClock::time_point busy_since;
    LaunchResult result;
    std::vector<std::thread> threads;

    // Of the thread that runs the cycles.
    LaunchAgreement agreement;
    std::map<std::string, Launched> waiting;  // offered to the others
};

Launcher::Launcher(Communicator& peers, LaunchSettings settings)
    : state_(std::make_unique<State>(peers, settings)) {}

Launcher::~Launcher() = default;

void Launcher::launch(std::string_view name, const Schedule& schedule, std::span<float> values) {
    launch(name, [&peers = state_->peers, text = std::string(name), &schedule, values] {
        return peers.all_reduce_sum(text, schedule, values);
    });
}

void Launcher::launch(std::string_view name, std::function<Outcome()> operations) {
    INVARIANT(!name.starts_with("launcher/"));
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    INVARIANT(state.in_flight < state.settings.operations_max);
    ++state.in_flight;
    state.ready.push_back({std::string(name), std::move(operations)});
    const auto idle = static_cast<std::size_t>(state.idle_lanes);
    if (!state.settings.coordinated && idle < state.ready.size()) {
        state.threads.emplace_back([&state] { state.run_lane(); });
    }
    state.work.notify_one();
}

LaunchResult Launcher::wait_all() {
    State& state = *state_;
    std::unique_lock lock(state.mutex);
    state.all_ended.wait(lock, [&] { return state.in_flight == 0; });
    return std::exchange(state.result, {});
}

}  // namespace ukemi::kernels
