#include "runtime/notices/metadata_service.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <ctime>
#include <stdexcept>

#include "base/plain_text.hpp"

namespace ukemi::runtime {

namespace {

constexpr std::chrono::milliseconds answer_within{2000};

}  // namespace

MetadataService::MetadataService(std::string_view place) {
    if (place.empty()) return;
    const std::size_t colon = place.rfind(':');
    const std::string_view digits = colon == std::string_view::npos ? "" : place.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port_);
    if (error != std::errc() || end != digits.data() + digits.size() || colon == 0) {
        throw std::invalid_argument(std::string(place));
    }
    address_ = place.substr(0, colon);
}

HttpAnswer MetadataService::ask(const std::string& method, const std::string& target,
                                const Headers& headers) const {
    return send_request({method, address_, port_, target, headers}, answer_within);
}

void MetadataService::refuse(const std::string& target, const HttpAnswer& answer) const {
    throw std::runtime_error(fmt::format("{}:{}{}: answers {}, {}", address_, port_, target,
                                         answer.status, ukemi::quoted(answer.body)));
}

std::optional<std::string> MetadataService::get(const std::string& target,
                                                const Headers& headers) const {
    HttpAnswer answer = ask("GET", target, headers);
    if (answer.status == 404) return std::nullopt;
    if (answer.status != 200) refuse(target, answer);
    return std::move(answer.body);
}

std::optional<WorldTime> world_time(std::string_view text) {
    const std::string terminated(text);
    for (const char* const form : {"%Y-%m-%dT%H:%M:%SZ", "%a, %d %b %Y %H:%M:%S GMT"}) {
        std::tm parts{};
        const char* const end = ::strptime(terminated.c_str(), form, &parts);
        if (end == nullptr || *end != '\0') continue;
        return std::chrono::system_clock::from_time_t(::timegm(&parts));
    }
    return std::nullopt;
}

std::string utc_text(WorldTime time) {
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace ukemi::runtime
