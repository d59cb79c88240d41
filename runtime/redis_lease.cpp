#include "runtime/redis_lease.hpp"

#include <fmt/format.h>

#ifdef UKEMI_WITH_HIREDIS
#include <hiredis/hiredis.h>
#endif

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "kernels/secure_stream.hpp"

namespace ukemi::runtime {

namespace {

using namespace std::chrono_literals;

constexpr int renewals_per_lease = 3;
constexpr auto claim_again = 100ms;
constexpr std::size_t agents_text_max = 64 * 1024;
constexpr std::string_view redis_kind = "redis:";

// All of them: KEYS[1] is a hash of run, term, job, address, agents, owner and expires. ARGV: what
// the caller has. `now` is Redis's own clock in milliseconds.
constexpr std::string_view script_begin = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local has = redis.call('HMGET', KEYS[1], 'run', 'term', 'job', 'owner', 'expires', 'agents',
                       'address')
local run, term, job, owner, expires, agents = has[1], has[2], has[3], has[4], has[5], has[6]
local address = has[7]
)lua";

// ARGV: owner, job, goes_on, run, address, lease ms, known run, known term, terms_max.
constexpr std::string_view claim_script = R"lua(
if run and owner ~= ARGV[1] and tonumber(expires) > now then
  return {'held', tostring(tonumber(expires) - now)}
end
local next_run, next_term, next_agents = ARGV[4], 1, '[]'
if ARGV[3] == '1' then
  if run and (ARGV[7] == '' or run == ARGV[7]) then
    if job ~= ARGV[2] then return {'job'} end
    next_run, next_term, next_agents = run, tonumber(term) + 1, agents
  end
  if ARGV[7] ~= '' and next_run ~= ARGV[7] then next_run, next_term = ARGV[7], 1 end
  if ARGV[7] ~= '' then next_term = math.max(next_term, tonumber(ARGV[8]) + 1) end
  if next_term > tonumber(ARGV[9]) then return {'terms'} end
end
redis.call('HSET', KEYS[1], 'run', next_run, 'term', next_term, 'job', ARGV[2], 'owner', ARGV[1],
           'address', ARGV[5], 'agents', next_agents, 'expires', now + tonumber(ARGV[6]))
if not run then return {'yours', next_run, tostring(next_term), next_agents} end
return {'yours', next_run, tostring(next_term), next_agents, run, term, job, address, agents}
)lua";

// ARGV: owner, job, run, term, address, lease ms, agents. Also where Redis has lost the entry, or
// has an older one.
constexpr std::string_view renew_script = R"lua(
if run and owner ~= ARGV[1] and (run ~= ARGV[3] or tonumber(term) >= tonumber(ARGV[4])) then
  return {'lost', run, term}
end
redis.call('HSET', KEYS[1], 'run', ARGV[3], 'term', ARGV[4], 'job', ARGV[2], 'owner', ARGV[1],
           'address', ARGV[5], 'agents', ARGV[7], 'expires', now + tonumber(ARGV[6]))
return {'yours'}
)lua";

// ARGV: owner, whether nothing is to be left, and what stood there before, if that is to stand
// there again: run, term, job, address and agents.
constexpr std::string_view give_up_script = R"lua(
if owner ~= ARGV[1] then return {'lost'} end
if ARGV[2] == '1' then redis.call('DEL', KEYS[1])
else redis.call('HSET', KEYS[1], 'expires', '0') end
if ARGV[3] then
  redis.call('HSET', KEYS[1], 'run', ARGV[3], 'term', ARGV[4], 'job', ARGV[5], 'address', ARGV[6],
             'agents', ARGV[7])
end
return {'given up'}
)lua";

#ifdef UKEMI_WITH_HIREDIS

// What Redis or the way to it says, and nothing of what the system would call that.
class RedisTrouble : public std::system_error {
public:
    explicit RedisTrouble(std::string text)
        : std::system_error(std::make_error_code(std::errc::connection_aborted)),
          text_(std::move(text)) {}
    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

// One connection; its time-outs are those of a local network.
class Redis {
public:
    explicit Redis(const RedisPlace& place, std::chrono::milliseconds within = 1000ms)
        : place_(&place) {
        const auto whole = std::chrono::duration_cast<std::chrono::seconds>(within);
        const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(within - whole);
        const timeval limit{whole.count(), rest.count()};
        context_.reset(
            ::redisConnectWithTimeout(place.address.host().c_str(), place.address.port(), limit));
        if (context_ == nullptr) fail("out of memory");
        if (context_->err != 0) fail(context_->errstr);
        ::redisSetTimeout(context_.get(), limit);
        if (!place.password.empty()) ask({"AUTH", place.password});
    }

    // Texts of a reply that is a list, or a single one. What Redis refuses is an error.
    std::vector<std::optional<std::string>> ask(const std::vector<std::string>& words) {
        std::vector<const char*> texts;
        std::vector<std::size_t> sizes;
        for (const std::string& word : words) {
            texts.push_back(word.data());
            sizes.push_back(word.size());
        }
        const std::unique_ptr<redisReply, Free> reply(static_cast<redisReply*>(::redisCommandArgv(
            context_.get(), static_cast<int>(words.size()), texts.data(), sizes.data())));
        if (reply == nullptr) fail(context_->errstr);
        if (reply->type == REDIS_REPLY_ERROR) refuse({reply->str, reply->len});
        std::vector<std::optional<std::string>> answers;
        if (reply->type != REDIS_REPLY_ARRAY) {
            answers.push_back(text_of_reply(*reply));
            return answers;
        }
        for (std::size_t i = 0; i < reply->elements; ++i) {
            answers.push_back(text_of_reply(*reply->element[i]));
        }
        return answers;
    }

    std::vector<std::optional<std::string>> run(std::string_view script,
                                                const std::vector<std::string>& arguments) {
        std::vector<std::string> words{"EVAL", fmt::format("{}{}", script_begin, script), "1",
                                       place_->key};
        words.insert(words.end(), arguments.begin(), arguments.end());
        return ask(words);
    }

private:
    struct Free {
        void operator()(redisContext* context) const { ::redisFree(context); }
        void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
    };
    static std::optional<std::string> text_of_reply(const redisReply& reply) {
        const bool is_text = reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_STATUS;
        if (!is_text) return std::nullopt;
        return std::string(reply.str, reply.len);
    }
    // Of long commands of somebody who has not said the password it says something else.
    [[noreturn]] void refuse(std::string_view why) const {
        const bool wants_password =
            why.starts_with("NOAUTH") || why.find("unauthenticated") != std::string_view::npos;
        if (!wants_password || !place_->password.empty()) fail(why);
        fail(
            fmt::format("wants a password: expected --redis-password-file, or the variable "
                        "UKEMI_REDIS_PASSWORD ({})",
                        why));
    }
    [[noreturn]] void fail(std::string_view why) const {
        throw RedisTrouble(
            fmt::format("redis at {}: {}", place_->address.text(), one_line(std::string(why))));
    }
    const RedisPlace* place_;
    std::unique_ptr<redisContext, Free> context_;
};

#else

// Nobody gets here: redis_place refuses.
class Redis {
public:
    explicit Redis(const RedisPlace&) {}
    std::vector<std::optional<std::string>> ask(const std::vector<std::string>&) { return {}; }
    std::vector<std::optional<std::string>> run(std::string_view, const std::vector<std::string>&) {
        return {};
    }
};

#endif

// What Redis has may be anybody's.
std::uint32_t term_in(const std::optional<std::string>& text) {
    const bool digits = text && !text->empty() && text->size() <= 4 &&
                        text->find_first_not_of("0123456789") == std::string::npos;
    const auto term = digits ? static_cast<std::uint32_t>(std::stoul(*text)) : 0U;
    return term <= terms_max ? term : 0U;
}

bool is_run_name(const std::optional<std::string>& text) {
    return text && text->size() == 32 &&
           text->find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::vector<std::string> agents_in(const std::optional<std::string>& text) {
    std::vector<std::string> names;
    const bool fits = text && text->size() <= agents_text_max;
    const auto list = nlohmann::json::parse(fits ? *text : "[]", nullptr, false);
    if (!list.is_array()) return names;
    for (const auto& name : list) {
        if (name.is_string()) names.push_back(name.get<std::string>());
    }
    return names;
}

std::string agents_text(const std::vector<std::string>& names) {
    return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// hiredis writes to a socket that may be closed.
void ignore_broken_pipes() {
    sigset_t pipe_signal;
    ::sigemptyset(&pipe_signal);
    ::sigaddset(&pipe_signal, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
}

}  // namespace

RedisPlace redis_place(std::string_view text, const std::string& password, const Secret& agents,
                       std::string_view where) {
#ifndef UKEMI_WITH_HIREDIS
    throw InputError(std::string(where), "",
                     "this build has no hiredis (libhiredis-dev): expected none");
#endif
    const bool is_one = text.starts_with(redis_kind);
    const auto address = SocketAddress::of_text(is_one ? text.substr(redis_kind.size()) : text);
    if (!is_one || !address || address->is_any() || address->port() == 0) {
        throw InputError(std::string(where), "",
                         fmt::format("expected redis:HOST:PORT in numbers, as in "
                                     "redis:127.0.0.1:6379, found \"{}\"",
                                     text));
    }
    RedisPlace place{*address, password, "ukemi:"};
    const kernels::PresharedKey key = kernels::derived_key(agents, "ukemi rendezvous");
    for (std::size_t i = 0; i < 16; ++i) place.key += fmt::format("{:02x}", key[i]);
    return place;
}

RedisLease::RedisLease(RedisPlace place, const LeaseClaim& claim)
    : place_(std::move(place)), claim_(claim), owner_(drawn_run_name()) {
    ignore_broken_pipes();
    const auto end = std::chrono::steady_clock::now() + 2 * place_.lease_time;
    const std::string job = fmt::format("{:016x}", claim.job);
    for (;;) {
        const auto answer = Redis(place_).run(
            claim_script, {owner_, job, claim.goes_on ? "1" : "0", run_, claim.address,
                           std::to_string(place_.lease_time.count()), claim.known_run,
                           std::to_string(claim.known_term), std::to_string(terms_max)});
        const std::string what = answer.empty() ? "" : answer[0].value_or("");
        const std::string where = fmt::format("redis at {}", place_.address.text());
        if (what == "yours" && answer.size() >= 4 && is_run_name(answer[1])) {
            run_ = *answer[1];
            term_ = term_in(answer[2]);
            agents_ = agents_in(answer[3]);
            for (std::size_t i = 4; i < answer.size(); ++i) {
                before_.push_back(answer[i].value_or(""));
            }
            if (term_ > 0) break;
        }
        if (what == "job") {
            throw InputError(where, "",
                             "has a run of another training: script, data, model, optimiser or "
                             "seed differ");
        }
        if (what != "held") throw InputError(where, "", "its entry for this secret is no run's");
        if (std::chrono::steady_clock::now() > end) {
            throw InputError(where, "", "its run has a coordinator that still runs");
        }
        std::this_thread::sleep_for(claim_again);
    }
    agents_now_ = agents_;
    thread_ = std::thread([this] { renew_until_ended(); });
}

RedisLease::~RedisLease() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
    try {
        if (!lost_) give_up();
    } catch (const std::system_error&) {
        // It runs out by itself.
    }
}

void RedisLease::give_up() {
    const bool had_none = is_given_back() && before_.empty();
    std::vector<std::string> words{owner_, goes_with_us() || had_none ? "1" : "0"};
    if (is_given_back()) words.insert(words.end(), before_.begin(), before_.end());
    Redis(place_).run(give_up_script, words);
}

void RedisLease::renew() {
    std::vector<std::string> agents;
    {
        const std::lock_guard lock(mutex_);
        agents = agents_now_;
        told_ = true;
    }
    const auto answer = Redis(place_).run(
        renew_script,
        {owner_, fmt::format("{:016x}", claim_.job), run_, std::to_string(term_), claim_.address,
         std::to_string(place_.lease_time.count()), agents_text(agents)});
    if (answer.empty() || answer[0] != "lost") return;
    const std::lock_guard lock(mutex_);
    const bool same = answer.size() == 3 && answer[1] == run_;
    lost_ = same ? fmt::format("another coordinator has this run, in term {}", term_in(answer[2]))
                 : "another run has begun under this secret";
}

void RedisLease::renew_until_ended() {
    for (;;) {
        try {
            renew();
            silent_ = false;
        } catch (const std::system_error& error) {
            const std::lock_guard lock(mutex_);
            told_ = true;  // later, with the next that it hears
            if (!std::exchange(silent_, true)) {
                problem_ = fmt::format(
                    "{}: the group trains on, and no other coordinator can follow until it answers",
                    error.what());
            }
        }
        std::unique_lock lock(mutex_);
        if (lost_ || ending_) return;
        changed_.wait_for(lock, place_.lease_time / renewals_per_lease,
                          [this] { return ending_ || !told_; });
        if (ending_) return;
    }
}

void RedisLease::note_agents(const std::vector<std::string>& names) {
    {
        const std::lock_guard lock(mutex_);
        agents_now_ = names;
        told_ = false;
    }
    changed_.notify_all();
}

std::optional<std::string> RedisLease::lost_to() {
    const std::lock_guard lock(mutex_);
    return lost_;
}

std::optional<std::string> RedisLease::take_problem() {
    const std::lock_guard lock(mutex_);
    return std::exchange(problem_, {});
}

std::optional<RunLeader> RedisLease::leader(const RedisPlace& place) {
    const auto has = Redis(place).ask({"HMGET", place.key, "run", "term", "address"});
    if (has.size() != 3 || !is_run_name(has[0]) || term_in(has[1]) == 0 || !has[2]) {
        return std::nullopt;
    }
    return RunLeader{*has[0], term_in(has[1]), *has[2]};
}

}  // namespace ukemi::runtime
