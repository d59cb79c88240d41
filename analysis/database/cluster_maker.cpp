#include "analysis/database/cluster_maker.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/build_info.hpp"
#include "analysis/scheduled_runs.hpp"
#include "analysis/search_results.hpp"
#include "base/first_failure.hpp"
#include "base/json_document.hpp"
#include "base/read_file.hpp"
#include "base/text_digest.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

namespace {

using Clock = std::chrono::steady_clock;

// A variant as it was read first.
struct PreparedVariant {
    ClusterVariant variant;
    SweptScenario row;
    std::uint64_t own_seed = 0;
    std::vector<std::string> deciders;  // schedulers or searchers, each its object
};

// Of what a run's result is a function of, but for the seed and who decides.
std::uint64_t digest_of(const PreparedVariant& one, nlohmann::json resolved, bool full) {
    for (const char* key : {"$schema", "description", "seed", "schedulers", "searchers"}) {
        resolved.erase(key);
    }
    std::uint64_t digest = text_digest(resolved.dump());
    digest = text_digest("\n" + records::variant_key(one.row.varied), digest);
    return text_digest(fmt::format("\n{:x}\n{}", one.variant.files_digest, full), digest);
}

// What both kinds have in common; they differ in how a group is made.
class ClusterMaker : public RunMaker {
public:
    ClusterMaker(ClusterRequest request, std::string_view command, int threads)
        : request_(std::move(request)),
          document_(cluster_document(request_, command)),
          threads_(threads > 0 ? threads : machine_threads()),
          build_(build_description()) {}

    std::uint64_t digest() const override {
        std::vector<std::uint64_t> digests;
        for (const PreparedVariant& one : variants_) {
            digests.push_back(one.row.digest);
            for (const std::string& decider : one.deciders) digests.push_back(text_digest(decider));
        }
        return text_digest(fmt::format("{:x}\n{}\n{}", fmt::join(digests, " "),
                                       fmt::join(document_.seeds, " "), build_));
    }
    std::vector<SweptScenario> scenarios() const override {
        std::vector<SweptScenario> all;
        for (const PreparedVariant& one : variants_) all.push_back(one.row);
        return all;
    }
    void make(const SweepTaker& taker) override {
        std::vector<std::vector<bool>> wanted(variants_.size() * seeds());
        std::size_t count = 0;
        for (std::size_t group = 0; group < wanted.size(); ++group) {
            const PreparedVariant& variant = variants_[group / seeds()];
            for (const std::string& decider : variant.deciders) {
                const bool is_wanted =
                    !taker.wanted || taker.wanted(key_of(variant, decider, seed_of(group)), group);
                wanted[group].push_back(is_wanted);
                count += is_wanted ? 1 : 0;
            }
        }
        if (taker.begin) taker.begin(count);
        take_groups(threads_, taker.next_group,
                    [&](std::size_t group) { make_group(group, wanted[group], taker); });
    }

protected:
    // One decider of a group: its number among the variant's.
    using MakeOne = std::function<SeededRun(std::size_t decider)>;
    // What makes the runs of one variant under one seed, for as long as it lives.
    virtual MakeOne maker_of(const PreparedVariant& variant, std::uint64_t seed) const = 0;

    // `list`: the key of those who decide.
    template <class Scenario>
    void prepare(const ClusterVariant& variant, const Scenario& scenario, std::uint64_t own_seed,
                 const char* list) {
        const auto resolved = nlohmann::json::parse(scenario.resolved);
        PreparedVariant& one = variants_.emplace_back();
        one = {variant, {0, scenario.name, variant.varied, scenario.resolved}, own_seed, {}};
        for (const nlohmann::json& each : resolved.at(list)) one.deciders.push_back(each.dump());
        one.row.digest = digest_of(one, resolved, document_.full);
    }

    const ClusterRequest& request() const { return request_; }
    const StepDocument& document() const { return document_; }

private:
    std::size_t seeds() const { return std::max<std::size_t>(1, document_.seeds.size()); }
    std::uint64_t seed_of(std::size_t group) const {
        if (document_.seeds.empty()) return variants_[group].own_seed;
        return document_.seeds[group % seeds()];
    }
    std::int64_t key_of(const PreparedVariant& variant, const std::string& decider,
                        std::uint64_t seed) const {
        return std::bit_cast<std::int64_t>(text_digest(fmt::format(
            "{}\n{:x}\n{}\n{}\n{}", kind().command, variant.row.digest, build_, decider, seed)));
    }

    void make_group(std::size_t group, const std::vector<bool>& wanted, const SweepTaker& taker) {
        const PreparedVariant& variant = variants_[group / seeds()];
        const std::uint64_t seed = seed_of(group);
        MakeOne make_one;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (!wanted[i]) continue;
            if (taker.stopped && taker.stopped()) return;
            if (!make_one) make_one = maker_of(variant, seed);
            const Clock::time_point begun = Clock::now();
            const SeededRun run = make_one(i);
            SweptRun swept;
            swept.key = key_of(variant, variant.deciders[i], seed);
            swept.scenario = static_cast<std::int64_t>(group / seeds());
            swept.trace_digest = text_digest_begin;
            swept.policy = run.decided_by;
            swept.values = head_values(run);
            swept.values.insert(swept.values.end(), run.values.begin(), run.values.end());
            swept.wall_s = std::chrono::duration<double>(Clock::now() - begun).count();
            taker.take(std::move(swept));
        }
    }

    ClusterRequest request_;
    StepDocument document_;
    int threads_;
    std::string build_;
    std::vector<PreparedVariant> variants_;
};

class ScheduleMaker final : public ClusterMaker {
public:
    ScheduleMaker(const ClusterRequest& asked, int threads)
        : ClusterMaker(asked, schedule_runs().command, threads) {
        for_each_schedule(request(), document(), [&](const ClusterVariant& variant, auto scenario) {
            prepare(variant, scenario, scenario.cluster.seed, "schedulers");
        });
    }
    const RunKind& kind() const override { return schedule_runs(); }

private:
    struct Group {
        explicit Group(scenarios::ScheduleScenario read)
            : scenario(std::move(read)), runs(scenario) {}
        scenarios::ScheduleScenario scenario;
        SchedulerRuns runs;
    };
    MakeOne maker_of(const PreparedVariant& variant, std::uint64_t seed) const override {
        const auto group =
            std::make_shared<Group>(read_schedule(document(), variant.variant, seed));
        return [group](std::size_t scheduler) {
            return seeded_run(group->runs.run_summed(scheduler), schedule_columns());
        };
    }
};

class SearchMaker final : public ClusterMaker {
public:
    SearchMaker(const ClusterRequest& asked, int threads)
        : ClusterMaker(asked, search_runs().command, threads) {
        for_each_search(request(), document(), [&](const ClusterVariant& variant, auto scenario) {
            prepare(variant, scenario, scenario.seed, "searchers");
        });
    }
    const RunKind& kind() const override { return search_runs(); }

private:
    struct Group {
        Group(scenarios::SearchScenario read, std::uint64_t seed, bool full)
            : scenario(std::move(read)), runs(scenario, seed, full) {}
        scenarios::SearchScenario scenario;
        SearcherRuns runs;
    };
    MakeOne maker_of(const PreparedVariant& variant, std::uint64_t seed) const override {
        const auto group = std::make_shared<Group>(read_search(document(), variant.variant), seed,
                                                   document().full);
        return [group](std::size_t searcher) {
            return seeded_run(group->runs.run(searcher), search_columns());
        };
    }
};

}  // namespace

std::string_view cluster_command(const std::filesystem::path& file) {
    const nlohmann::json document = parse_json(read_file(file), file.string());
    if (!document.is_object()) throw InputError(file.string(), "", "expected a JSON object");
    const bool of_results = document.contains("scenario") && document.contains("ukemi");
    const nlohmann::json command = of_results ? document.value("command", nlohmann::json()) : "";
    for (const std::string_view one : {schedule_runs().command, search_runs().command}) {
        if (command == one) return one;
    }
    if (document.contains("schedulers")) return schedule_runs().command;
    if (document.contains("searchers")) return search_runs().command;
    return {};
}

std::unique_ptr<RunMaker> cluster_maker(const ClusterRequest& request, std::string_view command,
                                        int threads) {
    if (command == schedule_runs().command)
        return std::make_unique<ScheduleMaker>(request, threads);
    return std::make_unique<SearchMaker>(request, threads);
}

}  // namespace ukemi::analysis
