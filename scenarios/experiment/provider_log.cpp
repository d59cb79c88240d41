#include "scenarios/experiment/provider_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/config_reader.hpp"
#include "base/input_error.hpp"
#include "base/read_file.hpp"

namespace ukemi::scenarios {

namespace {

// A live run asks after the step that is under way: such a request is that of the log.
constexpr Duration same_request = minutes(1);
constexpr std::int64_t log_requests_max = 1'000'000;
constexpr double log_usd_max = 1e9;
constexpr std::int64_t log_time_max = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::array<std::string_view, 7> log_events{"asked",  "refused",    "granted", "ready",
                                                     "notice", "given_back", "ended"};

class LogLine {
public:
    LogLine(std::string_view text, std::string_view place)
        : reader_(ConfigReader::from_text(text, place)),
          at_(moment("t_ns")),
          event_(reader_.one_of("event", log_events)) {}

    bool is(std::string_view event) const { return event_ == event; }
    Instant at() const { return at_; }
    Instant moment(std::string_view key) {
        return Instant::at(Duration::of(reader_.integer(key, 0, log_time_max)));
    }
    std::size_t request() {
        return static_cast<std::size_t>(reader_.integer("instance", 0, log_requests_max));
    }
    std::optional<double> usd(std::string_view key) {
        if (!reader_.has(key)) return std::nullopt;
        return reader_.number(key, 0, log_usd_max);
    }
    // What names the machine: of no use here, but the zone has to be one.
    void expect_zone(std::span<const std::string> zones) {
        const std::string zone = reader_.text("zone");
        if (std::ranges::find(zones, zone) == zones.end()) {
            reader_.fail("zone", fmt::format("is no zone of the scenario: \"{}\"", zone));
        }
    }
    [[noreturn]] void fail(std::string_view key, std::string_view problem) const {
        reader_.fail(key, problem);
    }

private:
    ConfigReader reader_;
    Instant at_;
    std::string event_;
};

void take_answer(LogLine& line, ProviderLog::Request& request) {
    const Duration after = line.at() - request.at;
    if (after < Duration{}) line.fail("t_ns", "is before the request");
    if (line.is("refused")) request.refused = after;
    if (line.is("ready")) request.ready = after;
    if (line.is("granted")) {
        request.granted = after;
        if (const auto usd = line.usd("usd_per_hour")) request.price = dollars_per_hour(*usd);
    }
    if (line.is("notice")) {
        request.told_at = line.at();
        request.lost_at = line.moment("lost_at_ns");
    }
}

void take_line(LogLine& line, std::span<const std::string> zones, ProviderLog& log) {
    line.expect_zone(zones);
    const std::size_t number = line.request();
    if (line.is("asked")) {
        if (number != log.requests.size()) {
            line.fail("instance", fmt::format("expected {}, the next", log.requests.size()));
        }
        log.requests.emplace_back(line.at());
        return;
    }
    if (number >= log.requests.size()) line.fail("instance", "was not asked for");
    take_answer(line, log.requests[number]);
}

}  // namespace

ProviderLog read_provider_log(const std::filesystem::path& file,
                              std::span<const std::string> zones) {
    const std::string text = read_file(file);
    ProviderLog log;
    bool has_ended = false;
    std::string_view left = text;
    for (std::size_t number = 1; !left.empty(); ++number) {
        const std::string_view words = left.substr(0, left.find('\n'));
        left.remove_prefix(std::min(words.size() + 1, left.size()));
        LogLine line(words, fmt::format("{}:{}", file.string(), number));
        if (!line.is("ended")) {
            take_line(line, zones, log);
            continue;
        }
        has_ended = true;
        log.ended = line.at();
        log.cost = dollars(line.usd("cost_usd").value_or(0));
    }
    if (!has_ended) {
        throw InputError(file.string(), "",
                         "expected a provider.jsonl to its end (\"event\": \"ended\")");
    }
    return log;
}

void RecordedProvider::ask(const sim::Instance& wanted, Instant now) {
    const std::size_t number = index_of(wanted.id);
    if (number >= log_->requests.size()) return;
    const ProviderLog::Request& request = log_->requests[number];
    std::vector<sim::RunQueue::Ticket>& due = due_[wanted.id];
    const bool spot = wanted.market == policies::Market::spot;
    const Duration apart = now < request.at ? request.at - now : now - request.at;
    const Instant from = apart <= same_request ? request.at : now;
    const auto answered = [&](Duration after) { return std::max(now, from + after); };
    if (request.granted && request.price && spot) {
        queue_->schedule(answered(*request.granted), sim::Phase::environment,
                         sim::PriceTold{wanted.zone, *request.price});
    }
    if (request.refused) {
        due.push_back(queue_->schedule(answered(*request.refused), sim::Phase::completion,
                                       sim::LaunchFailed{wanted.id}));
    } else if (request.ready) {
        due.push_back(queue_->schedule(answered(*request.ready), sim::Phase::completion,
                                       sim::InstanceReady{wanted.id}));
    }
    if (request.told_at && *request.told_at >= now) {
        due.push_back(queue_->schedule(*request.told_at, sim::Phase::environment,
                                       sim::LossTold{wanted.id, request.lost_at}));
    }
}

void RecordedProvider::give_back(InstanceId instance, Instant) {
    const auto found = due_.find(instance);
    if (found == due_.end()) return;
    for (const sim::RunQueue::Ticket& ticket : found->second) queue_->cancel(ticket);
    due_.erase(found);
}

}  // namespace ukemi::scenarios
