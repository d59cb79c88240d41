// bamboo_test.cpp — Bamboo's simulator, rebuilt from its description, against its recorded outputs.
//
// A harness, not a scenario: the simulated world has no pipelines in which neighbours compute for
// each other. What it shows is that the trace, the constants and the rules of redundancy are
// understood (Thorpe et al., NSDI'23; uclasystem/bamboo, project_pactum/simulation). Events of one
// kind and millisecond leave that simulator in the order of CPython's heap, which is played here
// move by move; its variant with first in, first out is recorded, too. Every recorded run comes out
// exactly in both orders. Two rules are in no description and were found by comparison: a lost node
// that held two places is no longer counted as overloaded; and a rendezvous that forms no pipeline
// sets the number of stages to zero, so the first stage has no stage before it until the next one:
// nobody takes its place over, and its loss is not fatal.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "tests/recorded.hpp"

namespace ukemi {

namespace {

using nlohmann::json;

enum class Kind { add = 1, remove = 2, ready = 4, global_timeout = 5, local_timeout = 6, step = 7 };

struct BambooEvent {
    std::int64_t at_ms = 0;
    Kind kind = Kind::add;
    std::string node;
    std::int64_t version = 0;
    std::int64_t sequence = 0;  // zero: whatever the heap makes of it
    bool operator<(const BambooEvent& other) const {
        return std::tie(at_ms, kind, sequence) < std::tie(other.at_ms, other.kind, other.sequence);
    }
};

// A binary heap with the moves of CPython's heapq, which decide who of two equals comes first.
class PythonHeap {
public:
    void push(BambooEvent event) {
        heap_.push_back(std::move(event));
        rise(heap_.size() - 1);
    }
    BambooEvent pop() {
        std::swap(heap_.front(), heap_.back());
        BambooEvent first = std::move(heap_.back());
        heap_.pop_back();
        std::size_t at = 0;
        for (std::size_t child = 1; child < heap_.size(); child = 2 * at + 1) {
            const std::size_t right = child + 1;
            if (right < heap_.size() && !(heap_[child] < heap_[right])) child = right;
            std::swap(heap_[at], heap_[child]);
            at = child;
        }
        if (!heap_.empty()) rise(at);
        return first;
    }
    bool empty() const { return heap_.empty(); }

private:
    void rise(std::size_t at) {
        while (at > 0 && heap_[at] < heap_[(at - 1) / 2]) {
            std::swap(heap_[at], heap_[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
    }
    std::vector<BambooEvent> heap_;
};

class BambooRun {
public:
    BambooRun(const json& recorded, const std::string& trace, const std::string& model, bool fifo)
        : fifo_(fifo),
          model_(recorded.at("models").at(model)),
          stages_(model_.at("stages").get<int>()),
          local_ms_(model_.at("local_rendezvous_ms").get<std::int64_t>()) {
        for (const json& row : recorded.at("traces").at(trace)) {
            const Kind kind = row.at(1) == "add" ? Kind::add : Kind::remove;
            schedule({row.at(0).get<std::int64_t>(), kind, row.at(2).get<std::string>()});
        }
    }
    void run() {
        while (!events_.empty()) {
            const BambooEvent event = events_.pop();
            now_ = event.at_ms;
            if (now_ > 43'200'000) break;
            switch (event.kind) {
                case Kind::add: add(event.node); break;
                case Kind::remove: remove(event.node); break;
                case Kind::ready: ready(event.node); break;
                case Kind::global_timeout:
                case Kind::local_timeout: meet(event.kind); break;
                case Kind::step: step(event.version); break;
            }
        }
    }
    // From zero on, as if the first instance had been there (p3 begins at zero: no recorded run
    // here tells), up to the last step; what the curve has beyond it is taken off again, as there.
    double average_instances() const {
        const double area = area_ - static_cast<double>((counted_until_ - last_step_) * count());
        return area / static_cast<double>(last_step_);
    }

    std::int64_t steps = 0;
    std::int64_t fatal_failures = 0;
    std::int64_t versions = 0;

private:
    enum class State { stopped, rendezvous, running };
    using Place = std::pair<int, int>;  // pipeline and stage
    struct Node {
        std::string name;
        bool created = false;
        std::vector<Place> places;
    };

    void schedule(BambooEvent event) {
        if (fifo_) event.sequence = ++scheduled_;
        events_.push(std::move(event));
    }
    std::int64_t count() const { return std::ssize(nodes_); }
    Node* find(const std::string& name) {
        const auto found = std::ranges::find(nodes_, name, &Node::name);
        return found == nodes_.end() ? nullptr : &*found;
    }
    void note_count() {
        area_ += static_cast<double>((now_ - counted_until_) * count());
        counted_until_ = now_;
    }
    void add(const std::string& name) {
        note_count();
        nodes_.push_back({name, false, {}});
        if (!any_added_) area_ = static_cast<double>(now_ * count());
        any_added_ = true;
        schedule({now_ + 45'000, Kind::ready, name, 0});
    }
    void ready(const std::string& name) {
        Node* node = find(name);
        if (node == nullptr) return;
        node->created = true;
        if (state_ == State::stopped) {
            call_together(Kind::global_timeout);
        } else if (state_ == State::rendezvous) {
            called_.push_back(name);
        } else {
            ++waiting_;
        }
    }
    void call_together(Kind timeout) {
        state_ = State::rendezvous;
        called_.clear();
        for (const Node& node : nodes_) {
            if (node.created) called_.push_back(node.name);
        }
        const std::int64_t wait = timeout == Kind::global_timeout ? 30'000 : local_ms_;
        schedule({now_ + wait, timeout, "", 0});
    }
    void remove(const std::string& name) {
        const Node* node = find(name);
        if (node == nullptr) return;
        note_count();
        const std::vector<Place> places = node->places;
        std::erase_if(nodes_, [&](const Node& one) { return one.name == name; });
        bool fatal = places.size() == 2;
        if (fatal) --overloaded_;
        if (places.size() == 1) {  // the stage before also holds this one
            const auto [pipeline, stage] = places[0];
            const int stages = pipelines_ > 0 ? stages_ : 0;
            const Place before{pipeline, stage > 0 ? stage - 1 : stages - 1};
            const auto holder = std::ranges::find_if(nodes_, [&](const Node& one) {
                return std::ranges::find(one.places, before) != one.places.end();
            });
            fatal = holder != nodes_.end() && holder->places.size() == 2;
            if (holder != nodes_.end() && !fatal) {
                holder->places.push_back(places[0]);
                ++overloaded_;
            }
        }
        if (fatal) {
            ++fatal_failures;
            call_together(Kind::global_timeout);
        } else if (state_ == State::running && !fallback_) {
            fallback_ = {steps, now_};
            fallback_paid_ = false;
            step_ms_ = step_ms_ * 3 / 2;
        }
    }
    void meet(Kind timeout) {
        if (std::ranges::any_of(called_, [&](const auto& name) { return !find(name); })) {
            call_together(timeout);
            return;
        }
        pipelines_ = static_cast<int>(std::ssize(called_)) / stages_;
        const int needed = pipelines_ * stages_;
        for (int i = 0; i < static_cast<int>(std::ssize(called_)); ++i) {
            Node& node = *find(called_[static_cast<std::size_t>(i)]);
            node.places.clear();
            if (i < needed) node.places.emplace_back(i / stages_, i % stages_);
        }
        waiting_ = static_cast<int>(std::ssize(called_)) - needed;
        overloaded_ = 0;
        called_.clear();
        fallback_.reset();
        ++versions;
        state_ = pipelines_ > 0 ? State::running : State::stopped;
        if (pipelines_ == 0) return;
        step_ms_ = model_.at("step_ms").at(std::to_string(pipelines_)).get<std::int64_t>();
        schedule({now_ + step_ms_, Kind::step, "", versions});
    }
    void step(std::int64_t version) {
        if (version != versions) return;
        if (fallback_ && fallback_->first == steps && !fallback_paid_) {
            fallback_paid_ = true;
            schedule({now_ + (now_ - fallback_->second) / 2, Kind::step, "", version});
            return;
        }
        ++steps;
        last_step_ = now_;
        const int active = pipelines_ * stages_ - overloaded_;
        const bool spares = overloaded_ > 0 && waiting_ >= overloaded_;
        const bool too_many = overloaded_ > 0 && 2.0 * overloaded_ / active > 0.05;
        if (spares || too_many || (active + waiting_) / stages_ > pipelines_) {
            call_together(Kind::local_timeout);
        } else {
            schedule({now_ + step_ms_, Kind::step, "", version});
        }
    }

    bool fifo_;
    std::int64_t scheduled_ = 0;
    const json& model_;
    int stages_;
    std::int64_t local_ms_;
    PythonHeap events_;
    std::vector<Node> nodes_;  // in the order in which they were added
    State state_ = State::stopped;
    std::vector<std::string> called_;
    std::int64_t now_ = 0;
    int pipelines_ = 0;
    int waiting_ = 0;
    int overloaded_ = 0;
    std::int64_t step_ms_ = 0;
    std::optional<std::pair<std::int64_t, std::int64_t>> fallback_;  // step, moment
    bool fallback_paid_ = false;
    bool any_added_ = false;
    double area_ = 0;
    std::int64_t counted_until_ = 0;
    std::int64_t last_step_ = 0;
};

}  // namespace

namespace {

// Compares the runs recorded under `key`; returns how many there were.
std::int64_t compare(const json& recorded, const std::string& key, bool fifo) {
    std::int64_t compared = 0;
    for (const json& expected : recorded.at(key)) {
        if (expected.at("result").is_null()) continue;  // the original gives up on these models
        const auto model = expected.at("model").get<std::string>();
        const auto trace = expected.at("trace").get<std::string>();
        CAPTURE(key, trace, model);
        BambooRun found(recorded, trace, model, fifo);
        found.run();
        const json& result = expected.at("result");
        CHECK(found.versions == result.at("rendezvous_versions").get<std::int64_t>());
        CHECK(found.average_instances() ==
              Approx(result.at("average_instances").get<double>()).epsilon(1e-12));
        CHECK(found.fatal_failures == result.at("num_fatal_failures").get<std::int64_t>());
        CHECK(found.steps == result.at("num_steps_complete").get<std::int64_t>());
        ++compared;
    }
    return compared;
}

}  // namespace

TEST_CASE("bamboo: the recorded runs come out exactly, in both orders of ties",
          "[bamboo][golden]") {
    const auto folder = peer_outputs();
    if (!folder) {
        WARN("skipped: no recorded outputs of peers beside the checkout");
        return;
    }
    std::ifstream stream(*folder / "bamboo_p3.json");
    const json recorded = json::parse(stream);
    CHECK(compare(recorded, "expected_fifo_ties", true) >= 3);
    CHECK(compare(recorded, "expected_cpython_heap_order", false) >= 3);
}

}  // namespace ukemi
