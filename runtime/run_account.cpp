#include "runtime/run_account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/config_reader.hpp"
#include "base/read_file.hpp"

namespace ukemi::runtime {

namespace {

namespace fs = std::filesystem;
using records::RunResult;

constexpr const char* account_name = "account.json";
constexpr std::int64_t integer_max = std::int64_t{1} << 58;  // sums of them fit
constexpr double steps_max = 1e15;                           // whole as a double

struct CountedName {
    const char* name;
    std::int64_t RunResult::*count;
};
constexpr CountedName counted[] = {
    {"launches", &RunResult::launches},       {"launch_failures", &RunResult::launch_failures},
    {"revocations", &RunResult::revocations}, {"revocation_events", &RunResult::revocation_events},
    {"failures", &RunResult::failures},       {"transitions", &RunResult::transitions},
    {"checkpoints", &RunResult::checkpoints}, {"plans", &RunResult::plans},
    {"discarded", &RunResult::discarded},     {"refused", &RunResult::refused},
};

nlohmann::ordered_json json_of(const records::MarketTotals& market) {
    return {{"held_ns", market.held.raw()}, {"cost_nano_usd", market.cost.raw()}};
}

std::int64_t positive(ConfigReader& reader, std::string_view key) {
    return reader.integer(key, 0, integer_max);
}

records::MarketTotals market_of(ConfigReader reader) {
    const Duration held = Duration::of(positive(reader, "held_ns"));
    const Dollars cost = Dollars::of(positive(reader, "cost_nano_usd"));
    reader.finish();
    return {held, cost};
}

}  // namespace

bool RunAccount::is_of(std::int64_t step) const {
    return std::ranges::find(saved_steps, step) != saved_steps.end();
}

std::string account_json(const RunAccount& account) {
    const RunResult& totals = account.totals;
    nlohmann::ordered_json document;
    document["kind"] = "ukemi run account";
    document["job"] = fmt::format("{:016x}", account.job);
    document["pieces"] = account.pieces;
    document["saved_steps"] = account.saved_steps;
    document["duration_ns"] = totals.duration.raw();
    document["worker_time_ns"] = totals.worker_time.raw();
    document["egress_nano_usd"] = totals.egress.raw();
    document["spot"] = json_of(totals.spot);
    document["on_demand"] = json_of(totals.on_demand);
    for (std::size_t cause = 0; cause < records::cause_count; ++cause) {
        document["causes"][std::string(records::cause_names()[cause])] =
            json_of({totals.causes.time[cause], totals.causes.cost[cause]});
    }
    for (const CountedName& each : counted) document[each.name] = totals.*each.count;
    return document.dump(1) + "\n";
}

RunAccount account_from_text(std::string_view text, const fs::path& file) {
    ConfigReader reader = ConfigReader::from_text(text, file.string());
    static constexpr std::string_view kinds[] = {"ukemi run account"};
    reader.one_of("kind", kinds);
    RunAccount account;
    const std::string job = reader.text("job");
    if (job.size() != 16 || job.find_first_not_of("0123456789abcdef") != std::string::npos) {
        reader.fail("job", "expected 16 hexadecimal digits");
    }
    account.job = std::stoull(job, nullptr, 16);
    account.pieces = reader.integer("pieces", 1, integer_max);
    for (const double steps : reader.numbers("saved_steps", 0, steps_max)) {
        account.saved_steps.push_back(static_cast<std::int64_t>(steps));
    }
    RunResult& totals = account.totals;
    totals.duration = Duration::of(positive(reader, "duration_ns"));
    totals.worker_time = Duration::of(positive(reader, "worker_time_ns"));
    totals.egress = Dollars::of(positive(reader, "egress_nano_usd"));
    totals.spot = market_of(reader.object("spot"));
    totals.on_demand = market_of(reader.object("on_demand"));
    ConfigReader causes = reader.object("causes");
    for (std::size_t cause = 0; cause < records::cause_count; ++cause) {
        const records::MarketTotals one = market_of(causes.object(records::cause_names()[cause]));
        totals.causes.time[cause] = one.held;
        totals.causes.cost[cause] = one.cost;
    }
    causes.finish();
    totals.held = totals.causes.time_sum();
    totals.cost = totals.causes.cost_sum() + totals.egress;
    for (const CountedName& each : counted) totals.*each.count = positive(reader, each.name);
    reader.finish();
    const bool adds_up = totals.spot.held + totals.on_demand.held == totals.held &&
                         totals.spot.cost + totals.on_demand.cost + totals.egress == totals.cost;
    if (!adds_up) reader.fail("causes", "expected what the markets' times and dollars add up to");
    return account;
}

std::optional<RunAccount> account_in(const fs::path& folder) {
    const fs::path file = folder / account_name;
    if (!fs::exists(file)) return std::nullopt;
    return account_from_text(read_file(file), file);
}

std::optional<RunAccount> account_beside(const fs::path& checkpoint, std::uint64_t job) {
    std::optional<RunAccount> account = account_in(checkpoint.parent_path());
    if (account && account->job != job) account.reset();
    return account;
}

void write_account(const fs::path& folder, const RunAccount& account) {
    write_file_atomically(folder / account_name, account_json(account));
}

void remove_account(const fs::path& folder) {
    std::error_code ignored;
    fs::remove(folder / account_name, ignored);
}

void add_earlier(const RunResult& earlier, RunResult& result) {
    result.duration += earlier.duration;
    result.held += earlier.held;
    result.worker_time += earlier.worker_time;
    result.cost += earlier.cost;
    result.egress += earlier.egress;
    for (std::size_t cause = 0; cause < records::cause_count; ++cause) {
        result.causes.time[cause] += earlier.causes.time[cause];
        result.causes.cost[cause] += earlier.causes.cost[cause];
    }
    result.spot.add(earlier.spot.held, earlier.spot.cost);
    result.on_demand.add(earlier.on_demand.held, earlier.on_demand.cost);
    for (const CountedName& each : counted) result.*each.count += earlier.*each.count;
    for (records::TimelineRow& row : result.timeline) {
        row.at = row.at + earlier.duration;
        row.spent += earlier.cost;
        row.spot_losses += earlier.revocations;
    }
}

}  // namespace ukemi::runtime
