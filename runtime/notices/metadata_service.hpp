// metadata_service.hpp — the address at which clouds tell a machine about itself, and their times.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/notices/http_request.hpp"
#include "runtime/notices/notice_source.hpp"

namespace ukemi::runtime {

class MetadataService {
public:
    // "127.0.0.1:8080"; empty: 169.254.169.254:80, as all of them have it. Throws
    // std::invalid_argument with what is no address.
    explicit MetadataService(std::string_view place);

    using Headers = std::vector<std::pair<std::string, std::string>>;
    // The answer to GET; nothing at 404. Throws std::runtime_error at other answers than 200.
    std::optional<std::string> get(const std::string& target, const Headers& headers) const;
    // Whatever it answers.
    HttpAnswer ask(const std::string& method, const std::string& target,
                   const Headers& headers) const;
    [[noreturn]] void refuse(const std::string& target, const HttpAnswer& answer) const;

private:
    std::string address_ = "169.254.169.254";
    std::uint16_t port_ = 80;
};

// "2017-09-18T08:22:00Z" or "Mon, 19 Sep 2016 18:29:47 GMT"; nothing if it is neither.
std::optional<WorldTime> world_time(std::string_view text);
std::string utc_text(WorldTime time);  // "2017-09-18 08:22:00 UTC"

}  // namespace ukemi::runtime
