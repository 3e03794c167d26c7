// JSON of requests.
#ifndef ESCALONA_SERVER_JSON_TEXT_H_
#define ESCALONA_SERVER_JSON_TEXT_H_

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace escalona::server {

// Parses a whole text. False: `wrong` says what is wrong, and at which byte, as "is not JSON: ...".
bool ParseJson(std::string_view text, boost::json::value& value, std::string& wrong);

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_JSON_TEXT_H_
